"""Tensors whose class brings the target that a check looks at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from fluidcore import core
from fluidcore.gradcheck import GradientChecker, check
from fluidcore.gradcheck.adapters import callable_target
from fluidcore.gradcheck.target.target import Target


class Celsius:
    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    @staticmethod
    def __gradcheck_target__(f: Callable[..., Any], args: Sequence[Any], who: str) -> Target:
        return callable_target(
            lambda x: f(Celsius(x)).array,
            [args[0].array],
            vjp=lambda x, v: 2 * x * v,
            name=f"{who} of temperatures",
        )


def square(x: Celsius) -> Celsius:
    return Celsius(x.array**2)


def cube(x: Celsius) -> Celsius:
    return Celsius(x.array**3)


@pytest.mark.parametrize("run", [check, GradientChecker().check_callable])
def test_the_class_of_a_tensor_says_how_its_functions_are_checked(run: Callable[..., Any]) -> None:
    x = Celsius([1.0, 2.0])
    assert run(square, x)
    report = run(cube, x, raise_exception=False)
    assert not report
    assert report.who == "cube of temperatures"


def test_a_gradient_that_would_not_be_looked_at_is_an_error() -> None:
    message = "the gradient of such tensors must be their own, got vjp; give NumPy arrays"
    with pytest.raises(core.InvalidArgument, match=f"^square: {message}"):
        check(square, Celsius([1.0]), vjp=lambda x, v: v)


def test_a_numerical_gradient_is_a_tensor_of_that_class() -> None:
    x = Celsius([1.0, 2.0])
    found = GradientChecker().compute_numerical_gradient(square, x, cotangent=np.ones(2))
    assert isinstance(found, Celsius)
    np.testing.assert_allclose(found.array, [2.0, 4.0], rtol=1e-9)
