"""Methods of Variables and of eager tensors, and indices that are tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import eager, layers

X = np.random.default_rng(0).standard_normal((2, 1, 3)).astype(np.float32)
METHODS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(2),
    "mean": lambda x: x.mean(0),
    "max": lambda x: x.max(2),
    "min": lambda x: x.min(0),
    "prod": lambda x: x.prod(2),
    "any": lambda x: (x > 1).any(0),
    "all": lambda x: (x > -1).all(2),
    "var": lambda x: x.var(0),
    "var, kept": lambda x: x.var(axis=(0, 2), keepdims=True),
    "var of a sample": lambda x: x.var(2, ddof=1),
    "std": lambda x: x.std(-1),
    "std of all": lambda x: x.std(ddof=1, keepdims=True),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "plus": lambda x: +x,
    "reshape": lambda x: x.reshape(3, -1),
    "transpose": lambda x: x.transpose(2, 0, 1),
    "reversed": lambda x: x.T,
    "squeeze": lambda x: x.squeeze(1),
    "cumsum": lambda x: x.cumsum(2),
    "argmax": lambda x: x.argmax(2),
    "argmin": lambda x: x.argmin(0),
    "clip": lambda x: x.clip(-0.5, 0.5),
    "round": lambda x: x.round(),
    "sum of all": lambda x: x.sum(keepdims=True),
    "axis": lambda x: x.mean(axis=1, keepdims=True),
    "axes": lambda x: x.max(axis=(0, 2)),
    "argmax of all": lambda x: x.argmax().reshape(1),
    "argmin, kept": lambda x: x.argmin(axis=2, keepdims=True),
    "cumsum of all": lambda x: x.cumsum(),
    "cumprod": lambda x: x.cumprod(2),
    "cumprod of all": lambda x: x.cumprod(),
    "clip below": lambda x: x.clip(0.0),
    "clip above": lambda x: x.clip(max=0.25),
    "decimals": lambda x: x.round(1),
    "divmod": lambda x: divmod(x, 2)[0] + divmod(x, 2)[1],
    "tens": lambda x: (x * 100).round(-1),
    "ravel": lambda x: x.ravel(),
    "dot": lambda x: x.reshape(2, 3).dot(x.reshape(3, 2)),
    "take": lambda x: x.take([5, 0, -1]),
    "take along": lambda x: x.take([2, 0], axis=2),
    "take from the end": lambda x: x.take(np.array([[1], [0]]), axis=-1),
    "argsort": lambda x: x.argsort(),
    "equal": lambda x: (x == x) & ~(x != x) ^ (x > 0),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_those_of_numpy(name: str) -> None:
    method = METHODS[name]
    expected = method(X)
    x = layers.data("x", list(X.shape), append_batch_size=False)
    (value,) = fluid.Executor().run(feed={"x": X}, fetch_list=[method(x)])
    for result in (value, method(eager.Tensor(X)).numpy()):
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-6)


COUNTED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(0),
    "prod": lambda x: x.prod(1),
    "mean": lambda x: x.mean(0),
    "max": lambda x: x.max(0),
    "min": lambda x: x.min(1),
    "any": lambda x: x.any(0),
    "all": lambda x: x.all(1),
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(0),
}
WHOLE = np.array([[3, 0, -2], [1, 7, -2]])


@pytest.mark.parametrize("dtype", ["bool", "int16", "int32", "int64"])
@pytest.mark.parametrize("name", COUNTED)
def test_methods_of_whole_numbers_and_booleans_give_the_numbers_of_numpy(
    name: str, dtype: str
) -> None:
    method, array = COUNTED[name], WHOLE.astype(dtype)
    x = layers.data("x", list(WHOLE.shape), dtype=dtype, append_batch_size=False)
    (value,) = fluid.Executor().run(feed={"x": array}, fetch_list=[method(x)])
    for result in (value, method(eager.Tensor(array)).numpy()):
        assert result.dtype.kind == method(array).dtype.kind
        np.testing.assert_allclose(result, method(array), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_whole_numbers_are_calculated_with_as_in_numpy(dtype: str) -> None:
    x, y = WHOLE.astype(dtype), np.array([2, 3, 0], dtype)
    s, t = eager.Tensor(x), eager.Tensor(y)
    for result, wanted in (
        (abs(s), abs(x)),
        (s**t, x**y),
        (s**2, x**2),
        (s.square(), np.square(x)),
        (s.sign(), np.sign(x)),
        (s.clip(-1, 2), x.clip(-1, 2)),
        (s.clip(0), x.clip(0)),
        (s.clip(max=1), x.clip(max=1)),
        (s + t, x + y),
        (s * t - s, x * y - x),
        (s // t.clip(1), x // y.clip(1)),
        (s % t.clip(1), x % y.clip(1)),
        (s < t, x < y),
        (-s, -x),
        (divmod(s, 2)[1], divmod(x, 2)[1]),
        (s.round(), x),
    ):
        assert result.numpy().dtype == wanted.dtype
        np.testing.assert_array_equal(result.numpy(), wanted)


def test_sorted_elements_are_those_of_numpy() -> None:
    x = layers.data("x", list(X.shape), append_batch_size=False)
    results = [x.sort(), x.sort(0), x.sort(None), x.sort(descending=True)]
    values = fluid.Executor().run(feed={"x": X}, fetch_list=results)
    expected = [np.sort(X), np.sort(X, 0), np.sort(X, None), np.sort(X)[..., ::-1]]
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)
    np.testing.assert_array_equal(eager.Tensor(X).sort().numpy(), expected[0])


def test_fluids_names_of_arguments_mean_the_same() -> None:
    x = eager.Tensor(X)
    np.testing.assert_array_equal(
        x.sum(dim=2, keep_dim=True).numpy(), x.sum(axis=2, keepdims=True).numpy()
    )
    with pytest.raises(TypeError, match=r"^reduce_sum: axis and dim mean the same, got both$"):
        x.sum(axis=0, dim=0)
    with pytest.raises(TypeError, match=r"^clip: min or max must be given, got neither$"):
        x.clip()
    with pytest.raises(TypeError, match=r"^clip: min must be a number, got str 'a'$"):
        x.clip("a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^round: decimals must be a whole number, got 1.5$"):
        x.round(1.5)
    assert layers.data("x", [3]).ndim == x[0].ndim == 2


def test_an_index_may_be_a_tensor_of_whole_numbers() -> None:
    table, ids = X.reshape(3, 2), np.array([[0, 2], [1, 1]])
    x = layers.data("x", [3, 2], append_batch_size=False)
    i = layers.data("ids", [2], dtype="int64")
    (value,) = fluid.Executor().run(feed={"x": table, "ids": ids}, fetch_list=[x[i]])
    np.testing.assert_array_equal(value, table[ids])

    leaf = eager.Tensor(table, requires_grad=True)
    leaf[eager.Tensor(ids)].sum().backward()
    assert leaf.grad is not None
    np.testing.assert_array_equal(leaf.grad.numpy(), [[1, 1], [2, 2], [1, 1]])


def test_a_tensor_of_other_numbers_is_no_index() -> None:
    x = layers.data("x", [3])
    with pytest.raises(TypeError, match="must be int32 or int64, got float32"):
        x[x]
    with pytest.raises(fluid.InvalidArgument, match=r"Index must be in \[0, 2\)"):
        eager.Tensor(X)[eager.Tensor([2])]
