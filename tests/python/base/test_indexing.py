"""x[index] of Variables and tensors against NumPy."""

import itertools
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.base.indexing import index_steps
from fluidcore.eager import Tensor

X = np.arange(2.0 * 3 * 4).reshape(2, 3, 4)
ITEMS: list[Any] = [
    1,
    -1,
    np.int64(0),
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(-1, -9, -2),
    slice(2, 1),
    slice(-(2**70), 2**70),
    None,
    ...,
]
INDICES = [
    index
    for count in (1, 2, 3)
    for index in itertools.product(ITEMS, repeat=count)
    if sum(item is ... for item in index) < 2
]
ONE_BY_ONE: list[Any] = [(), 0, -1, slice(1, None), None, ..., (None, 0, ..., -1, None)]


def test_every_index_of_a_tensor_is_that_of_numpy() -> None:
    x = Tensor(X)
    for index in INDICES + ONE_BY_ONE:
        np.testing.assert_array_equal(x[index].numpy(), X[index], err_msg=str(index))


@pytest.mark.parametrize("shape", [(2, 3, 4), (-1, 3, -1)])
def test_an_index_of_a_variable_is_that_of_numpy(shape: tuple[int, ...]) -> None:
    x = layers.data("x", shape, dtype="float64", append_batch_size=False)
    indices = INDICES[::7] + ONE_BY_ONE
    parts = [x[index] for index in indices]
    for index, part, got in zip(
        indices, parts, fluid.Executor().run(feed={"x": X}, fetch_list=parts), strict=True
    ):
        np.testing.assert_array_equal(got, X[index], err_msg=str(index))
        assert len(part.shape) == got.ndim
        assert all(a in (-1, b) for a, b in zip(part.shape, got.shape, strict=True))


def test_an_index_that_takes_everything_appends_nothing() -> None:
    x = layers.data("x", [3])
    assert x[:] is x[...] is x[:, ::1] is x
    assert index_steps((slice(0, None), ...), (3, 4)) == []


def test_the_gradient_of_a_part_is_zero_around_it() -> None:
    x = Tensor(X, requires_grad=True)
    (x[0, ::2, 1:] * 3.0).sum().backward()
    wanted = np.zeros_like(X)
    wanted[0, ::2, 1:] = 3
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), wanted)


def test_a_tensor_is_gone_through_row_by_row() -> None:
    rows = [row.numpy() for row in Tensor(X)]
    np.testing.assert_array_equal(rows, X)
    with pytest.raises(TypeError, match=r"^a tensor without dimensions has no length$"):
        list(Tensor(1.0))


ITEM = "a whole number, a slice, ..., None or an array of whole numbers"
BAD: list[tuple[Any, type[Exception], str]] = [
    (2, IndexError, "an index of axis 0 must be in [-2, 2), got 2"),
    ((0, -4), IndexError, "an index of axis 1 must be in [-3, 3), got -4"),
    ((..., 4), IndexError, "an index of axis 2 must be in [-4, 4), got 4"),
    (
        (0, None, 0, 0, 0),
        IndexError,
        "an index must have an item for at most 3 dimensions, as x has, got 4",
    ),
    ((..., 0, ...), IndexError, "an index must have at most one ..., got 2"),
    (
        (0, slice(None, None, 0)),
        IndexError,
        "the step of a slice of axis 1 must not be 0",
    ),
    (True, TypeError, f"item 0 of an index must be {ITEM}, got bool"),
    ((0, 1.5), TypeError, f"item 1 of an index must be {ITEM}, got float"),
    ({0}, TypeError, f"item 0 of an index must be {ITEM}, got set"),
    (
        (0, slice(1.0, None)),
        TypeError,
        "a slice of axis 1 must be of whole numbers and None, got float",
    ),
]


@pytest.mark.parametrize(("index", "error", "message"), BAD, ids=[b[2] for b in BAD])
def test_a_bad_index_is_an_error(index: Any, error: type[Exception], message: str) -> None:
    x = layers.data("x", [2, 3, 4], append_batch_size=False)
    for indexed in (x, Tensor(X)):
        with pytest.raises(error) as caught:
            indexed[index]
        assert str(caught.value) == message
    assert not x.block.ops


def test_an_index_of_an_unknown_extent_is_checked_when_the_program_runs() -> None:
    x = layers.data("x", [3])
    part = x[5]
    with pytest.raises(ValueError, match=r"squeeze: axes must name dimensions of extent 1"):
        fluid.Executor().run(feed={"x": np.zeros((2, 3), np.float32)}, fetch_list=[part])
    with pytest.raises(IndexError, match=r"^an index of axis 0 must be in 64 bits, got "):
        x[2**70]


def test_a_tensor_array_is_read_by_array_read() -> None:
    array = layers.create_array("float32")
    with pytest.raises(TypeError, match=r"^the tensor array '.*' is read by layers.array_read"):
        array[0]
