"""Gradients of 0 that rounding forbids to see exactly."""

import numpy as np
import pytest
from targets import FUNCTIONS, NumpyTarget, checked, normalized, normalized_vjp

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.independence import far_away
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(20).standard_normal((3, 4))
LOW = ("float32", "float16", "bfloat16")


def shifted(offset: float, claimed: float, scale: float, dtype: str) -> NumpyTarget:
    def vjp(x, v):
        return x.dtype.type(claimed) * v

    return NumpyTarget(lambda x: x + x.dtype.type(offset), vjp, [scale * X], dtype)


@pytest.mark.parametrize("dtype", ["float64", *LOW])
@pytest.mark.parametrize("offset", [1.0, 1e3, 1e5, 1e8])
def test_0_is_not_right_because_a_large_number_absorbs_the_step(offset: float, dtype: str) -> None:
    if dtype == "float16" and offset > 1e4:
        offset = 3e4
    for seed in range(4):
        for scale in (1e-6, 1e-3):
            (result,) = checked(shifted(offset, 0, scale, dtype), seed=seed, shadow="off").results
            assert result.verdict is not Verdict.PASS, (seed, scale)
            if result.verdict is Verdict.INCONCLUSIVE:
                assert Reason.ABSORPTION in result.reasons or Reason.NOISE in result.reasons
    (result,) = checked(shifted(1000, 0, 1e-6, "float32"), shadow="off").results
    assert result.reasons == (Reason.ABSORPTION,)
    assert result.detail == "12 of 12 cannot be judged: absorption"


def test_nothing_is_far_away_where_f_is_finite_nowhere_else() -> None:
    x = np.linspace(0.5, 1, 4).astype(np.float32)

    def f(at):
        return at if np.array_equal(at, x) else np.full_like(at, np.nan)

    far = far_away(
        Session(NumpyTarget(f, lambda x, v: v, [x], "float32"), GradCheckConfig(shadow="off")), 0
    )
    assert far.slopes is None


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_right_gradients_of_0_pass_natively(dtype: str, scale: float) -> None:
    softmax, softmax_vjp, _ = FUNCTIONS["softmax"]
    undecided = 0  # f at 1e-3 rounds x + b, and sees a slope of 2e-6 of f over x only just
    for seed in range(10):
        random = np.random.default_rng(seed)
        x, b = random.standard_normal((6, 4)) * scale, random.standard_normal(4) * scale
        bias = NumpyTarget(normalized, normalized_vjp, [x, b], dtype)
        verdict = checked(bias, seed=seed, shadow="off").results[1].verdict
        assert verdict is not Verdict.FAIL
        undecided += verdict is Verdict.INCONCLUSIVE
        total = NumpyTarget(
            lambda x: softmax(x).sum(),
            lambda x, v: softmax_vjp(x, np.ones_like(x) * v),
            [x[:3]],
            dtype,
        )
        verdict = checked(total, seed=seed, shadow="off").verdict
        assert verdict is Verdict.PASS or (scale == 1e3 and verdict is Verdict.INCONCLUSIVE)
    assert undecided <= (dtype == "float32" and scale == 1e-3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_no_0_before_a_normalization_fails_natively(dtype: str) -> None:
    def vjp(x, b, v):
        dx, db = normalized_vjp(x, b, v)
        return dx, db + b.dtype.type(0.01)

    target = NumpyTarget(normalized, vjp, [np.tile(X, (2, 1)), X[0]], dtype)
    assert checked(target, shadow="off").results[1].verdict is Verdict.FAIL


@pytest.mark.parametrize("dtype", ["float64", *LOW])
def test_a_constant_has_the_gradient_0(dtype: str) -> None:
    constant = NumpyTarget(lambda x: 0 * x + x.dtype.type(3), lambda x, v: 0 * v, [X], dtype)
    assert checked(constant, shadow="off").verdict is Verdict.PASS


def test_how_far_f_stands_still() -> None:
    far = far_away(Session(shifted(0, 1, 1, "float32"), GradCheckConfig(shadow="off")), 0)
    assert far.still == 0
    assert far.slopes is not None
    assert far.is_hidden_by(np.full((2, 12), 10.0))
    assert not far.is_hidden_by(np.full((2, 12), 1e-3))
    target = shifted(1e6, 1, 1e-6, "float32")
    far = far_away(Session(target, GradCheckConfig(shadow="off")), 0)
    assert 8 <= far.still < 1e6
    assert far.slopes is not None
    still = NumpyTarget(lambda x: 0 * x + 1, lambda x, v: 0 * v, [X])
    far = far_away(Session(still, GradCheckConfig()), 0)
    assert far.slopes is None
    assert far.still > 2.0**39 / 8
    assert not far.is_hidden_by(np.full((2, 12), np.inf))


def test_how_steep_f_is_on_the_way_to_the_first_points_is_known() -> None:
    """From there on it may be steeper, as here beyond 20 times x."""
    x = np.ones(12)
    target = NumpyTarget(
        lambda x: 5 + 1e-18 * x + np.where(np.abs(x).max() > 20, x, 0), lambda x, v: v, [x]
    )
    session = Session(target, GradCheckConfig())
    far = far_away(session, 0)
    assert far.slopes is not None
    assert (far.slopes > 0.01).all()
    assert (far.steepness < 1e-9).all()
    line = far_away(Session(NumpyTarget(lambda x: 2 * x, lambda x, v: v, [x]), session.config), 0)
    np.testing.assert_array_equal(line.steepness, line.slopes)


def test_where_f_ends_nothing_is_seen() -> None:
    def f(x):
        if np.abs(x).max() > 5:
            raise ValueError("too far")
        return x + 1000

    target = NumpyTarget(f, lambda x, v: v, [X])
    assert far_away(Session(target, GradCheckConfig()), 0).slopes is None


def test_points_with_an_output_that_is_not_finite_are_left_out() -> None:
    def f(x):
        return np.append(x, 0.0 if np.abs(x).max() < 5 else np.inf)

    target = NumpyTarget(f, lambda x, v: v[:-1], [X.ravel()])
    assert far_away(Session(target, GradCheckConfig()), 0).slopes is None
