"""x[ids], x[:, ids], x[mask] of Variables and tensors against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.eager import Tensor

X = np.random.default_rng(0).standard_normal((3, 4, 5))
IDS = np.array([2, 0, -1])
TABLE = np.array([[0, 1], [2, -3]], np.int32)
ROWS = np.array([True, False, True])
ITEMS: list[Any] = [
    IDS,
    TABLE,
    [1, 1, 0],
    ROWS,
    X[:, :, 0] > 0,
    [],
    0,
    slice(None),
    slice(1, None, 2),
    None,
    ...,
]


def is_array(item: Any) -> bool:
    return isinstance(item, (np.ndarray, list))


def in_numpy(index: Any) -> Any:
    """None if NumPy refuses it."""
    try:
        return X[index]
    except IndexError:
        return None


INDICES = [
    index
    for count in (1, 2, 3)
    for index in itertools.product(ITEMS, repeat=count)
    if any(map(is_array, index))
]


def of_tensor(index: Any) -> Any:
    """The elements; None if there are none."""
    try:
        return Tensor(X)[index].numpy()
    except IndexError:
        return None


def test_every_index_of_a_tensor_is_that_of_numpy() -> None:
    for index in INDICES:
        expected, got = in_numpy(index), of_tensor(index)
        assert (got is None) == (expected is None), index
        if got is not None:
            np.testing.assert_array_equal(got, expected, err_msg=str(index))


@pytest.mark.parametrize("shape", [(3, 4, 5), (-1, 4, 5)])
def test_an_index_of_a_variable_is_that_of_numpy(shape: tuple[int, ...]) -> None:
    x = layers.data("x", shape, dtype="float64", append_batch_size=False)
    indices = [(slice(None), IDS), (0, TABLE), (..., [1, 0]), (None, [1, 1, 0]), ([0, 2], [1, 3])]
    indices += [([1, 0], slice(None), [2, 4]), (0, slice(None), [2, 4]), ([1], None, 3, TABLE)]
    parts = [x[index] for index in indices]
    values = fluid.Executor().run(feed={"x": X}, fetch_list=parts)
    for index, part, value in zip(indices, parts, values, strict=True):
        np.testing.assert_array_equal(value, X[index], err_msg=str(index))
        assert all(a in (-1, b) for a, b in zip(part.shape, value.shape, strict=True))


def test_tensors_and_arrays_may_stand_side_by_side() -> None:
    x = layers.data("x", [3, 4, 5], dtype="float64", append_batch_size=False)
    i = layers.data("i", [2], dtype="int32", append_batch_size=False)
    parts = [x[:, i], x[i, [0, 1]], x[0, i], x[..., i, 1:], x[i, :, [0, 4]]]
    ids = np.array([2, 1], np.int32)
    values = fluid.Executor().run(feed={"x": X, "i": ids}, fetch_list=parts)
    expected = [X[:, ids], X[ids, [0, 1]], X[0, ids], X[..., ids, 1:], X[ids, :, [0, 4]]]
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)


@pytest.mark.parametrize(
    "index",
    [IDS, (slice(None), IDS), (IDS, [0, 1, 1]), (1, TABLE), (IDS, slice(1, None), [1, 1, 0])],
)
def test_the_gradient_goes_to_the_elements_that_were_taken(index: Any) -> None:
    x = Tensor(X, requires_grad=True)
    part = x[index]
    weights = np.random.default_rng(1).standard_normal(part.shape)
    (part * weights).sum().backward()
    expected = np.zeros_like(X)
    np.add.at(expected, index, weights)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-14)


def test_a_mask_of_a_tensor_is_known() -> None:
    x = Tensor(X, requires_grad=True)
    positive = x[x > 0]
    np.testing.assert_array_equal(positive.numpy(), X[X > 0])
    positive.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), X > 0)


def test_a_truth_value_is_no_mask() -> None:
    x = Tensor(X)
    with pytest.raises(TypeError, match=r"^a mask must have at least one dimension, got \[\]$"):
        x[Tensor(True)]


def test_a_mask_of_a_variable_depends_on_the_data() -> None:
    x = layers.data("x", [3])
    with pytest.raises(TypeError, match=r"depends on the data; write where\(mask, x, other\)"):
        x[x > 0]


BAD: list[tuple[Any, type[Exception], str]] = [
    ([3], IndexError, "an index of axis 0 must be in [-3, 3), got 3"),
    ((0, [-5]), IndexError, "an index of axis 1 must be in [-4, 4), got -5"),
    (
        ([0, 1], [0, 1, 2]),
        IndexError,
        "the arrays of an index must broadcast, got [2], [3]",
    ),
    (
        np.array([True, False]),
        IndexError,
        "a mask must have the extents of the dimensions it is for, [3], got [2]",
    ),
    (
        [0.5],
        TypeError,
        "an array that is an index must be of whole numbers or bool, got float64",
    ),
    (
        [[0], [1, 2]],
        TypeError,
        "an array that is an index must be of whole numbers or bool, got object",
    ),
    (
        ([0], "a"),
        TypeError,
        "item 1 of an index must be a whole number, a slice, ..., None or an array of whole "
        "numbers, got str",
    ),
    (
        ([0], 0, 0, 0),
        IndexError,
        "an index must have an item for at most 3 dimensions, as x has, got 4",
    ),
]


@pytest.mark.parametrize(("index", "error", "message"), BAD, ids=[b[2] for b in BAD])
def test_a_bad_index_is_an_error(index: Any, error: type[Exception], message: str) -> None:
    x = layers.data("x", [3, 4, 5], append_batch_size=False)
    for indexed in (x, Tensor(X)):
        with pytest.raises(error) as caught:
            indexed[index]
        assert str(caught.value) == message
    assert not x.block.ops


def test_of_an_unknown_extent_nothing_is_counted_from_the_end() -> None:
    x = layers.data("x", [3])
    message = "an index of axis 0 must be at least 0, as its extent is unknown, got -1"
    with pytest.raises(IndexError, match=f"^{message}$"):
        x[[0, -1]]
    with pytest.raises(ValueError, match=r"Index must be in \[0, 2\), got 5"):
        fluid.Executor().run(feed={"x": np.zeros((2, 3), np.float32)}, fetch_list=[x[[5]]])
