"""Division of Variables: true quotients, and those rounded down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.program import Variable

X, Y = np.array([7, -7, 6, 0, 2**40]), np.array([2, 2, -4, 3, 3])


def whole(name: str, dtype: str = "int64") -> Variable:
    return layers.data(name, [5], dtype=dtype, append_batch_size=False)


def run(result: Variable, **values: Any) -> Any:
    return fluid.Executor().run(feed=values, fetch_list=[result])[0]


@pytest.mark.parametrize(
    "quotient",
    [
        lambda x, y: x / y,
        lambda x, y: x / 2,
        lambda x, y: x / 2.5,
        lambda x, y: 2 / y,
        lambda x, y: 2.5 / y,
        lambda x, y: x / np.float64(0.5),
    ],
)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int16"])
def test_whole_numbers_have_a_true_quotient_in_float32(
    quotient: Callable[[Any, Any], Any], dtype: str
) -> None:
    x, y = (a.astype(dtype) for a in (np.clip(X, -9, 9), Y))
    got = run(quotient(whole("x", dtype), whole("y", dtype)), x=x, y=y)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, quotient(x, y), rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_whole_number_is_divided_in_the_type_of_the_other_side(dtype: str) -> None:
    x, y = whole("x"), layers.data("y", [5], dtype=dtype, append_batch_size=False)
    values = {"x": np.clip(X, -9, 9), "y": Y.astype(dtype)}
    for result, want in ((x / y, values["x"] / Y), (y / (x + 10), Y / (values["x"] + 10))):
        got = run(result, **values)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=1e-3)


@pytest.mark.parametrize(
    "quotient",
    [
        lambda x, y: x // y,
        lambda x, y: x // 2,
        lambda x, y: -7 // y,
        lambda x, y: x % y,
        lambda x, y: x % 4,
        lambda x, y: -7 % y,
        lambda x, y: np.mod(x, y),
    ],
)
@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "float64"])
def test_a_quotient_is_rounded_down_and_a_remainder_left_as_in_numpy(
    quotient: Callable[[Any, Any], Any], dtype: str
) -> None:
    x, y = (a.astype(dtype) for a in (np.clip(X, -9, 9), Y))
    got = run(quotient(whole("x", dtype), whole("y", dtype)), x=x, y=y)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, quotient(x, y))


def test_what_cannot_be_divided_leaves_the_program_as_it_was() -> None:
    x, y = whole("x"), layers.data("y", [3, 2], append_batch_size=False)
    text = str(fluid.default_main_program())
    with pytest.raises(fluid.InvalidArgument, match="elementwise_div: X and Y must have equal"):
        x / y
    with pytest.raises(TypeError, match="cannot be combined with an array"):
        x / np.ones(5)
    with pytest.raises(TypeError, match="unsupported operand"):
        x / "2"
    assert str(fluid.default_main_program()) == text


def test_the_gradient_passes_a_quotient_by_whole_numbers() -> None:
    x, count = layers.data("x", [5], append_batch_size=False, stop_gradient=False), whole("n")
    (slope,) = fluid.gradients(layers.reduce_sum(x / count), x)
    assert slope is not None
    got = run(slope, x=np.ones(5, np.float32), n=Y)
    np.testing.assert_allclose(got, 1 / Y, rtol=1e-6)
