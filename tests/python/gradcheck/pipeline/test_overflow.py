"""Gradients that are infinite because their dtype ends."""

import numpy as np
import pytest
from targets import NumpyTarget, checked

from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.array([0.5, -1.0, 2.0, 0.0123])


def inverse_square(fault=None):
    """1 / x², whose derivative at 0.0123 is 1.07e6."""

    def vjp(x, v):
        gradient = -2 * v.astype(np.float64) / x.astype(np.float64) ** 3
        with np.errstate(over="ignore"):
            gradient = gradient.astype(x.dtype)
        if fault is not None:
            fault(gradient)
        return gradient

    def f(x):
        return (1 / x.astype(np.float64) ** 2).astype(x.dtype)

    return NumpyTarget(f, vjp, [X], "float16")


@pytest.mark.parametrize("mode", ["full", "directional"])
def test_a_right_gradient_that_overflows_is_not_judged(mode: str) -> None:
    for seed in range(5):
        (result,) = checked(inverse_square(), seed=seed, shadow="off", mode=mode).results
        assert result.verdict is Verdict.INCONCLUSIVE
        assert result.reasons[0] is Reason.DOMAIN
        assert result.detail.startswith("overflow: the gradient")
        assert "is larger than any float16 at 1 of 4 elements" in result.detail
        assert result.resolution == np.inf


@pytest.mark.parametrize(("fault", "verdict"), [(1, Verdict.INCONCLUSIVE), (1.5, Verdict.FAIL)])
def test_an_overflow_hides_no_other_error(fault: float, verdict: Verdict) -> None:
    factors = np.array([1.0, -2.0, 1.5, 3.0]) * 2e4

    def f(x):
        return (factors * np.tanh(x.astype(np.float64))).astype(x.dtype)

    def vjp(x, v):
        gradient = v.astype(np.float64) * factors * (1 - np.tanh(x.astype(np.float64)) ** 2)
        gradient[0] *= fault
        with np.errstate(over="ignore"):
            return gradient.astype(x.dtype)

    target = NumpyTarget(f, vjp, [np.array([0.25, -0.25, 0.3, 0.1])], "float16")
    for seed in (2, 3, 4, 5, 6, 8):  # at these, one of the larger ones overflows
        (result,) = checked(target, seed=seed, shadow="off", explain=True).results
        assert result.verdict is verdict, seed
        wrong = [error.index for error in result.element_errors or ()]
        assert wrong == ([0] if fault != 1 else [])


@pytest.mark.parametrize("mode", ["full", "directional"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_an_infinity_where_the_derivative_is_a_number_fails(mode: str, value: float) -> None:
    def infinite(gradient):
        gradient[2] = value

    (result,) = checked(inverse_square(infinite), shadow="off", mode=mode).results
    assert result.verdict is Verdict.FAIL
    assert result.reasons == (Reason.NON_FINITE,)


def test_a_nan_in_place_of_an_overflow_fails() -> None:
    def not_a_number(gradient):
        gradient[3] = np.nan

    (result,) = checked(inverse_square(not_a_number), shadow="off").results
    assert result.reasons == (Reason.NON_FINITE,)


def test_an_infinity_of_the_wrong_sign_fails() -> None:
    def f(x):
        return (x.astype(np.float64) * 3e5 / 8).astype(x.dtype)

    def vjp(x, v):
        return np.where(v > 0, -np.inf, np.inf).astype(x.dtype)

    right = np.array([0.5, -1.0, 0.25])
    (result,) = checked(NumpyTarget(f, vjp, [right], "float16"), shadow="off").results
    assert result.reasons == (Reason.NON_FINITE,)
