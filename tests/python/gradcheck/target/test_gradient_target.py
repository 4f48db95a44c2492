"""The gradients of a target as a function with gradients of its own."""

from dataclasses import replace

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore import core
from fluidcore.gradcheck.target.gradient_target import GradientTarget
from fluidcore.gradcheck.target.target import Rounding

X, Y, V = np.array([1.0, 2.0, -3.0]), np.array([0.5, -1.0, 2.0]), np.array([1.0, -2.0, 0.25])
U = [np.array([1.0, 0.5, 2.0]), np.array([-1.0, 3.0, 0.0])]


class Twice(NumpyTarget):
    """x² y with the gradient of its gradient, to which something is added."""

    def __init__(self, dtype: str = "float64", dust: float = 0.0, **options) -> None:
        super().__init__(
            lambda x, y: x * x * y,
            lambda x, y, v: (2 * x * y * v, x * x * v),
            [X, Y],
            dtype,
            **options,
        )
        self.dust = dust
        self.asked: list[str] = []

    def second_vjp(self, xs, vs, us, dtype):
        self.asked.append(dtype)
        (x, y), (v,), (a, b) = xs, vs, us
        dust = x.dtype.type(0 if dtype == "float64" and self.dtype != "float64" else self.dust)
        return [2 * y * v * a + 2 * x * v * b + dust, 2 * x * v * a, 2 * x * y * a + x * x * b]


def test_its_value_is_the_gradient() -> None:
    first = Twice()
    target = GradientTarget(first, [V])
    assert target.who == "the gradient of f"
    assert [part.name for part in target.inputs] == ["x0", "x1"]
    found = target.forward([X, Y], "float64")
    np.testing.assert_array_equal(found[0], 2 * X * Y * V)
    np.testing.assert_array_equal(found[1], X * X * V)
    again = target.forward([Y, X], "float64")
    np.testing.assert_array_equal(again[1], Y * Y * V)
    assert (target.dtype, target.has_shadow, target.place) == ("float64", True, first.place)


def test_its_gradient_is_the_second_gradient_by_its_inputs() -> None:
    whole = [2 * Y * V * U[0] + 2 * X * V * U[1], 2 * X * V * U[0], 2 * X * Y * U[0] + X * X * U[1]]
    found = GradientTarget(Twice(), [V]).vjp([X, Y], U, "float64")
    np.testing.assert_array_equal(found, whole[:2])
    target = GradientTarget(Twice(), [0 * V], by_cotangents=True)
    assert [part.name for part in target.inputs] == ["x0", "x1", "cotangent"]
    np.testing.assert_array_equal(target.vjp([X, Y, V], U, "float64"), whole)
    np.testing.assert_array_equal(target.forward([X, Y, V], "float64")[1], X * X * V)
    np.testing.assert_array_equal(target.vjp([X, Y], U, "float64")[0], 0 * whole[0])


def test_there_must_be_a_second_gradient() -> None:
    first = NumpyTarget(lambda x: x, lambda x, v: v, [X])
    with pytest.raises(core.InvalidArgument, match=r"the gradient of f: f has no second gradient"):
        GradientTarget(first, [V]).vjp([X], [V], "float64")


def test_cotangents_have_the_dtype_that_is_asked_for_and_are_copied() -> None:
    v = V.copy()
    target = GradientTarget(Twice("float32"), [v])
    v[:] = 0
    xs = [X.astype(np.float32), Y.astype(np.float32)]
    found = target.forward(xs, "float32")
    assert {array.dtype.name for array in found} == {"float32"}
    np.testing.assert_array_equal(found[1], X * X * V)


def test_several_cotangents_have_numbers() -> None:
    def both(x):
        return x, 2 * x

    first = NumpyTarget(both, lambda x, v, w: v + 2 * w, [X])
    target = GradientTarget(first, [V, U[0]], by_cotangents=True)
    assert [part.name for part in target.inputs] == ["x0", "cotangent 0", "cotangent 1"]
    np.testing.assert_array_equal(target.forward([X, V, U[0]], "float64")[0], V + 2 * U[0])


def test_rows_stay_apart_only_where_all_inputs_have_the_same_ones() -> None:
    first = Twice(rows=3)
    target = GradientTarget(first, [V], by_cotangents=True)
    assert [part.rows for part in target.inputs] == [3, 3, 3]
    first.inputs = [first.inputs[0], replace(first.inputs[1], rows=0)]
    target = GradientTarget(first, [V], by_cotangents=True)
    assert [part.rows for part in target.inputs] == [0, 0, 0]


def test_the_engine_gets_the_gradients() -> None:
    xs = GradientTarget(Twice(), [V]).function("float64").run()
    np.testing.assert_array_equal(xs[0], 2 * X * Y * V)
    function = GradientTarget(Twice(), [V], by_cotangents=True).function("float64")
    np.testing.assert_array_equal(function.run()[1], X * X * V)


def zeros(part: float, dtype: str = "float64", unit: float = 2.0**-53, **options) -> list[bool]:
    """Which elements of a gradient of 0 and a little are taken for 0, where 4 units are rounding.

    The first input's gradient is the dust alone where the cotangent is 0.
    """
    first = Twice(dtype, dust=4 * unit * part, **options)
    rounding = Rounding(np.zeros(6), [np.array([1.0, 2.0, 0.25]), np.ones(3)])
    target = GradientTarget(first, [0 * V], rounding=rounding)
    xs, us = ([one.astype(dtype) for one in ones] for ones in ([X, Y], U))
    found = target.vjp(xs, us, dtype)
    assert found[0].dtype.name == dtype
    return [value == 0 for value in found[0].tolist()]


@pytest.mark.parametrize("part", [0.99, 1.01, 1.99, 2.01, 0.24, 0.26])
def test_four_units_of_rounding_are_none_of_the_gradient(part: float) -> None:
    expected = [part <= 1, part <= 2, part <= 0.25]
    assert zeros(part) == expected
    assert zeros(part, "float32", 2.0**-24) == expected
    assert zeros(part, "float32", 2.0**-24, has_shadow=False) == expected


def test_what_float64_knows_to_be_no_rounding_stays() -> None:
    class Real(Twice):
        def second_vjp(self, xs, vs, us, dtype):
            return [0 * x + x.dtype.type(2.0**-24) for x in xs]

    rounding = Rounding(np.zeros(6), [np.ones(3), np.ones(3)])
    xs, us = ([one.astype(np.float32) for one in ones] for ones in ([X, Y], U))
    found = GradientTarget(Real("float32"), [V], rounding=rounding).vjp(xs, us, "float32")
    assert (found[0] == 2.0**-24).all()
    alone = GradientTarget(Real("float32", has_shadow=False), [V], rounding=rounding)
    assert (alone.vjp(xs, us, "float32")[0] == 0).all()


@pytest.mark.parametrize(("dtype", "asked"), [("float64", 1), ("float32", 2)])
def test_float64_is_asked_once(dtype: str, asked: int) -> None:
    first = Twice(dtype)
    rounding = Rounding(np.zeros(6), [np.ones(3), np.ones(3)])
    xs, us = ([one.astype(dtype) for one in ones] for ones in ([X, Y], U))
    GradientTarget(first, [V], rounding=rounding).vjp(xs, us, dtype)
    assert first.asked == [dtype, "float64"][:asked]
