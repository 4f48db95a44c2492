"""Gradients that are infinite because their dtype ends."""

import numpy as np
import pytest
from targets import NumpyTarget, checked

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.overflow import overflown
from fluidcore.gradcheck.verdict import Reason, Verdict

_LARGEST = 65504.0  # of float16

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
        if mode == "full":
            assert result.detail.startswith("overflow: the gradient")
            assert "is larger than any float16 at 1 of 4 elements" in result.detail
        else:
            is_said = "the gradient is infinite, as the derivative may be, at 1 of 4 elements"
            assert result.detail == is_said
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


def alone(f, x, dtype: str = "float16") -> Session:
    target = NumpyTarget(lambda x: f(x.astype(float)).astype(x.dtype), lambda x, v: v, [x], dtype)
    return Session(target, GradCheckConfig(shadow="off"))


def steep(part: float, n: int = 3) -> tuple[Session, np.ndarray]:
    """All derivatives are a part of the largest float16, and the gradient is infinite."""
    x = np.linspace(0.01, 0.02, n) * (-1) ** np.arange(n)
    v = alone(np.sin, x).weights(0)
    return alone(lambda x: np.sin(x) * part * _LARGEST / np.abs(v), x), np.sign(v) * np.inf


@pytest.mark.parametrize(("part", "is_overflow"), [(0.95, False), (0.98, True), (1.02, True)])
def test_a_derivative_may_be_too_large_within_its_error_bars(part: float, is_overflow) -> None:
    session, gradient = steep(part)
    found = overflown(session, 0, 0, gradient, None)
    assert (found is not None) is is_overflow
    if found is not None:
        assert found.tolist() == [True] * 3
    for sign in np.eye(3):
        assert overflown(session, 0, 0, gradient * (1 - 2 * sign), None) is None


def test_of_many_infinite_elements_a_few_are_looked_at() -> None:
    costs = []
    for n in (16, 160):
        session, gradient = steep(1.02, n)
        before = session.calls.forwards
        found = overflown(session, 0, 0, gradient, None)
        assert found is not None
        assert found.all()
        costs.append(session.calls.forwards - before)
    assert 0 < costs[1] < 1.5 * costs[0]


@pytest.mark.parametrize(
    ("f", "x"),
    [(np.sqrt, 0.0), (lambda x: x > 0, 0.0), (lambda x: np.where(x == 0.5, 1, np.nan), 0.5)],
    ids=["edge of the domain", "jump", "one point"],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_where_there_is_no_derivative_a_gradient_may_be_infinite(f, x: float, sign: int) -> None:
    with np.errstate(invalid="ignore"):
        found = overflown(alone(f, [x]), 0, 0, np.array([sign * np.inf]), None)
    assert found is not None
    assert found.tolist() == [True]


def test_of_a_finite_gradient_nothing_is_infinite_and_f_does_not_run() -> None:
    session = alone(np.sin, X)
    before = session.calls.forwards
    found = overflown(session, 0, 0, np.cos(X), None)
    assert found is not None
    assert found.tolist() == [False] * 4
    assert session.calls.forwards == before


def test_a_gradient_of_another_size_is_refused() -> None:
    with pytest.raises(core.InvalidArgument, match="must have 4 elements as the input has, got 3"):
        overflown(alone(np.sin, X), 0, 0, np.array([np.inf, 1, 1]), None)


def test_what_float64_holds_is_no_overflow_of_a_narrower_dtype() -> None:
    session, gradient = steep(1.02)
    assert overflown(Session(session.target, GradCheckConfig()), 0, 0, gradient, None) is None


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("mode", ["full", "directional"])
def test_the_gradient_of_a_square_root_at_0_may_be_infinite_and_no_other(dtype, mode) -> None:
    x = np.array([0.0, 1.0, 4.0])

    def gradient(at_0: float):
        def vjp(x, v):
            with np.errstate(divide="ignore"):
                found = v / (2 * np.sqrt(x))
            return np.where(x == 0, at_0 * np.sign(v), found).astype(x.dtype)

        return NumpyTarget(np.sqrt, vjp, [x], dtype)

    for result in checked(gradient(np.inf), mode=mode).results:
        assert result.verdict is Verdict.INCONCLUSIVE
        assert result.reasons[0] is Reason.DOMAIN
    first = checked(gradient(np.nan), mode=mode).results[0]
    assert (first.verdict, first.reasons) == (Verdict.FAIL, (Reason.NON_FINITE,))
