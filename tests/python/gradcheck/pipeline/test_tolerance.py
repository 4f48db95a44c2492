"""A gradient that is calculated to a tolerance, as by a solver, is right to that."""

from typing import Any

import numpy as np
import pytest

from fluidcore.gradcheck import GradCheckConfig, Verdict, check

X = np.linspace(0.1, 1.0, 12)


def verdict(off: float, *, bends: bool = False, dtype: str = "float64", **options: Any) -> Verdict:
    """Of the gradient of sin that is off by a part of it, which may change with the cotangent."""

    def vjp(x: Any, v: Any) -> Any:
        part = off * (np.sign(v) if bends else 1)
        return (v * np.cos(x) * (1 + part)).astype(x.dtype)

    point = X.astype(dtype)
    return check(np.sin, point, vjp=vjp, raise_exception=False, explain=False, **options).verdict


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("mode", "bends"), [("full", False), ("full", True), ("directional", False)]
)
def test_an_error_within_it_is_right_and_ten_times_that_is_wrong(
    mode: str, bends: bool, dtype: str
) -> None:
    options = {"mode": mode, "bends": bends, "dtype": dtype}
    assert verdict(1e-3, **options) is Verdict.FAIL
    assert verdict(1e-3, tolerance=2e-3, **options) is Verdict.PASS
    assert verdict(1e-2, tolerance=1e-3, **options) is Verdict.FAIL


def test_errors_of_elements_that_add_up_along_a_direction_are_open() -> None:
    options = {"mode": "directional", "bends": True}
    assert verdict(1e-3, **options) is Verdict.FAIL
    assert verdict(1e-3, tolerance=2e-3, **options) is Verdict.INCONCLUSIVE


def test_it_is_that_of_each_element() -> None:
    def vjp(x: Any, v: Any) -> Any:
        gradient = v * np.cos(x)
        gradient[3] *= 1.1
        return gradient

    def report(tolerance: float) -> Any:
        return check(np.sin, X, vjp=vjp, raise_exception=False, tolerance=tolerance)

    assert report(0.01).verdict is Verdict.FAIL
    assert [error.index for error in report(0.01).results[0].element_errors] == [3]
    assert report(0.2).verdict is Verdict.PASS


def test_a_pass_sees_no_less_than_it_says() -> None:
    for tolerance in (1e-6, 1e-3):
        report = check(np.sin, X, vjp=lambda x, v: v * np.cos(x), tolerance=tolerance)
        assert tolerance <= report.results[0].resolution <= 2 * tolerance


def test_it_is_refused_beside_a_step_of_ones_own() -> None:
    with pytest.raises(ValueError, match="tolerance must be None beside a fixed step"):
        GradCheckConfig(tolerance=1e-3, epsilon=1e-4)
    with pytest.raises(ValueError, match="tolerance must be positive, got -1"):
        GradCheckConfig(tolerance=-1.0)
