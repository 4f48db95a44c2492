"""The Taylor remainder along a direction, to be shown."""

import numpy as np
import pytest
from targets import NumpyTarget, checked, target_of

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.measure.taylor import trace
from fluidcore.gradcheck.verdict import Verdict

X = np.random.default_rng(8).standard_normal((3, 4))


def test_a_result_that_passes_has_levels_for_a_plot_if_they_are_wanted() -> None:
    assert checked(target_of("tanh")).results[0].levels == ()
    (result,) = checked(target_of("tanh"), levels=True).results
    assert len(result.levels) >= 9
    steps = [level.step for level in result.levels]
    assert steps == sorted(steps, reverse=True)
    early = result.levels[0].remainder / result.levels[3].remainder
    assert 30 < early < 130  # h² falls by 64


def test_the_remainder_of_a_wrong_gradient_falls_like_h() -> None:
    wrong = NumpyTarget(np.tanh, lambda x, v: 1.1 * v * (1 - np.tanh(x) ** 2), [X])
    (result,) = checked(wrong).results
    late = result.levels[-4].remainder / result.levels[-1].remainder
    assert late == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize(
    ("factor", "settings", "verdict"),
    [
        (1.0, {"levels": True}, Verdict.PASS),
        (1.1, {}, Verdict.FAIL),
        (1.0, {"resolution": 1e-12}, Verdict.INCONCLUSIVE),
    ],
)
def test_levels_do_not_depend_on_the_verdict(factor: float, settings, verdict: Verdict) -> None:
    target = NumpyTarget(np.tanh, lambda x, v: factor * v * (1 - np.tanh(x) ** 2), [X])
    (result,) = checked(target, **settings).results
    assert result.verdict is verdict
    (usual,) = checked(NumpyTarget(np.tanh, lambda x, v: 0 * v, [X])).results
    shown = [[level[:3] for level in one.levels] for one in (result, usual)]
    assert shown[0] == shown[1] != []


class Alone(Session):
    def __init__(self, f, vjp, **settings) -> None:
        settings = {"shadow": "off", "cotangents": 1, **settings}
        super().__init__(NumpyTarget(f, vjp, [X]), GradCheckConfig(**settings))


def test_levels_are_those_of_the_function_along_the_direction() -> None:
    session = Alone(np.sin, lambda x, v: v * np.cos(x))
    found = trace(session, 0, None)
    d, v = session.direction(0, 0), session.weights(0)
    exact = float(np.sum(v * np.cos(X.ravel()) * d))

    def phi(h: float) -> float:
        return float(np.sum(v * np.sin(X.ravel() + h * d)))

    for level in found:
        h = level.step
        assert level.difference == pytest.approx((phi(h) - phi(-h)) / 2 / h, rel=1e-8)
        assert level.remainder == pytest.approx(abs(phi(h) - phi(0) - h * exact), abs=1e-13)
        assert 0 < level.noise < 1e-6


def test_evaluations_of_levels_are_counted() -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return np.sin(x)

    session = Alone(f, lambda x, v: v * np.cos(x))
    before, counted = count[0], session.calls.forwards
    trace(session, 0, None)
    assert session.calls.forwards - counted == count[0] - before > 0


def test_levels_are_measured_once_for_each_input() -> None:
    target = NumpyTarget(lambda x, y: x * y, lambda x, y, v: (v * y, v * x), [X, 2 * X])
    session = Session(target, GradCheckConfig(cotangents=1))
    first = trace(session, 0, None)
    counted = session.calls.forwards
    assert trace(session, 0, None) == first
    assert session.calls.forwards == counted
    assert trace(session, 1, None) != first
