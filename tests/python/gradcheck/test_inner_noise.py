"""Rounding inside of a float64 f that is larger than that of its outputs."""

import numpy as np
import pytest
from targets import NumpyTarget, checked

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.inner_noise import noise_of_most, settle_jumps
from fluidcore.gradcheck.judge import JUMP
from fluidcore.gradcheck.modes import differentiate
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.verdict import Verdict

SLOPE = 1e-4  # beside outputs of 1


def target(size: int, factor: float = 1.0) -> NumpyTarget:
    """1 + 1e-4 sin(M x), multiplied and divided so often that it loses some units."""
    random = np.random.default_rng(3)
    mixed = random.uniform(-1, 1, (32, size)) / np.sqrt(size)

    def f(x: np.ndarray) -> np.ndarray:
        y = 1 + SLOPE * np.sin(mixed @ x)
        for c in range(3, 103):
            y = y * c / (c + 1) * ((c + 1) / c)
        return y

    def vjp(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        return factor * SLOPE * (v * np.cos(mixed @ x)) @ mixed

    return NumpyTarget(f, vjp, [random.uniform(0.5, 1.4, size)])


def test_what_seems_to_jump_is_smooth_within_the_noise_of_f() -> None:
    session = Session(target(12), GradCheckConfig())
    numerical = differentiate(session, 0, "full", None)
    assert numerical is not None
    jumps = numerical.reference.flags & JUMP != 0
    assert jumps.any()
    settled = settle_jumps(session, 0, numerical, None)
    assert not settled.reference.flags[jumps].any()
    assert settled.evaluations > numerical.evaluations
    right = session.gradients(0, "float64")[0]
    apart = np.abs(settled.reference.value[0] - right)[jumps]
    assert (apart <= 3 * settled.reference.error[0, jumps]).all()
    assert (settled.reference.error[0, jumps] <= 1e-3 * SLOPE).all()


def test_noise_that_is_known_is_not_measured_again() -> None:
    session = Session(target(12), GradCheckConfig())
    numerical = differentiate(session, 0, "full", None)
    assert numerical is not None
    assert settle_jumps(session, 0, numerical, np.ones(32)) is numerical


@pytest.mark.parametrize("size", [12, 300])
def test_a_right_gradient_passes_and_a_wrong_one_fails(size: int) -> None:
    assert checked(target(size)).verdict is Verdict.PASS
    report = checked(target(size, 1.001))
    assert report.verdict is Verdict.FAIL


def test_many_elements_are_looked_at_with_the_noise_from_the_beginning() -> None:
    session = Session(target(300), GradCheckConfig())
    np.testing.assert_array_equal(noise_of_most(session, 0, "full", None), session.inner_noise)
    assert noise_of_most(Session(target(12), GradCheckConfig()), 0, "full", None) is None
    smooth = NumpyTarget(np.sin, lambda x, v: v * np.cos(x), [np.linspace(0, 1, 300)])
    assert noise_of_most(Session(smooth, GradCheckConfig()), 0, "full", None) is None


def test_a_true_jump_stays_one() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        return np.where(x > 1.0, x + 1, x)

    session = Session(NumpyTarget(f, lambda x, v: v, [np.ones(4)]), GradCheckConfig())
    numerical = differentiate(session, 0, "full", None)
    assert numerical is not None
    settled = settle_jumps(session, 0, numerical, None)
    assert (settled.reference.flags & JUMP != 0).all()
    assert np.isinf(settled.reference.error).all()
