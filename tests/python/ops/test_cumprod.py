"""Cumulative products against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, run_op

import fluidcore as fluid
from fluidcore import layers


def cumprod(
    X: Array, axis: int = -1, exclusive: bool = False, reverse: bool = False
) -> dict[str, Array]:
    x = np.atleast_1d(X)
    x = np.flip(x, axis) if reverse else x
    if exclusive:
        x = np.roll(x, 1, axis)
        np.moveaxis(x, axis, 0)[:1] = 1
    out = np.cumprod(x, axis, dtype=X.dtype)
    out = np.flip(out, axis) if reverse else out
    return {"Out": out.reshape(X.shape)}


ZEROS = np.array([[2.0, 0.0, 3.0, -1.0], [0.0, 0.0, 1.0, 2.0], [1.5, -2.0, 0.5, 0.0]])
CHOICES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((), {}),
    ((), {"axis": 0, "exclusive": True}),
    ((1,), {}),
    ((0, 4), {}),
    ((4, 0), {"axis": 1}),
    ((0, 4), {"axis": 0}),
    ((9,), {"axis": 0}),
    ((3, 5), {}),
    ((3, 5), {"axis": 0}),
    ((3, 5), {"axis": -2, "reverse": True}),
    ((2, 3, 7), {"axis": 1, "exclusive": True}),
    ((2, 3, 7), {"axis": 1, "exclusive": True, "reverse": True}),
    ((1, 2, 300), {"axis": 1}),
]
CASES = [
    *[OpCase("cumprod", {"X": normal(*shape)}, cumprod, attrs) for shape, attrs in CHOICES],
    *[
        OpCase("cumprod", {"X": ZEROS}, cumprod, attrs, note="zeros")
        for attrs in ({}, {"axis": 0}, {"exclusive": True}, {"reverse": True})
    ],
    *[
        OpCase("cumprod", {"X": integers(-3, 4, 3, 5).astype(dtype)}, cumprod, note=dtype)
        for dtype in ("int32", "int64")
    ],
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_a_zero_leaves_the_gradient_of_the_product_without_it() -> None:
    x = layers.data("x", [4], dtype="float64", append_batch_size=False)
    x.stop_gradient = False
    last = layers.slice(layers.cumprod(x), axes=[0], starts=[3], ends=[4])
    (gradient,) = fluid.gradients(last, x)
    (value,) = fluid.Executor().run(
        feed={"x": np.array([2.0, 0.0, 3.0, -1.0])}, fetch_list=[gradient]
    )
    np.testing.assert_array_equal(value, [0, -6, 0, 0])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_wrap_around(dtype: str) -> None:
    x = np.array([np.iinfo(dtype).max, 2, 3, 5], dtype=dtype)
    np.testing.assert_array_equal(run_op("cumprod", {"X": x})["Out"], np.cumprod(x, dtype=dtype))


def test_one_thread_and_two_give_the_same_products() -> None:
    x = (1 + 0.01 * normal(64, 33, 70)).astype(np.float32)
    for axis in range(3):
        one, two = (run_op("cumprod", {"X": x}, {"axis": axis}, threads=n)["Out"] for n in (1, 2))
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("shape", "axis"), [((2, 3), 2), ((2, 3), -3), ((), 1)])
def test_an_axis_out_of_range_is_an_error(shape: tuple[int, ...], axis: int) -> None:
    with pytest.raises(ValueError, match=rf"cumprod: axis must be in .*, got {axis}"):
        run_op("cumprod", {"X": normal(*shape)}, {"axis": axis})


def test_the_gradient_of_many_sequences_is_right_to_rounding() -> None:
    rng = np.random.default_rng(0)
    feed = {name: rng.normal(size=(3, 2, 300)) for name in ("x", "v")}
    x, v = (
        layers.data(name, [3, 2, 300], dtype="float64", append_batch_size=False) for name in feed
    )
    x.stop_gradient = False
    (gradient,) = fluid.gradients(layers.cumprod(x, axis=1), [x], [v])
    (found,) = fluid.Executor().run(feed=feed, fetch_list=[gradient])
    first, second = feed["x"].astype(np.longdouble).transpose(1, 0, 2)
    above, below = feed["v"].transpose(1, 0, 2)
    expected = np.stack([above + below * second, below * first], 1).astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
