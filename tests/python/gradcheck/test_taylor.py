"""The Taylor remainder: its slope tells a right gradient from a wrong one."""

import numpy as np
import pytest
from targets import NumpyTarget, checked, target_of

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.judge import Reference
from fluidcore.gradcheck.report.result import Level
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.taylor import opinion, second_opinion, trace
from fluidcore.gradcheck.verdict import Verdict

X = np.random.default_rng(8).standard_normal((3, 4))


def levels(power: float, noise: float = 0.0, factor: float = 1.0) -> list[Level]:
    steps = [2.0**-k for k in range(3, 15)]
    return [Level(h, 1.0, noise / h, factor * h**power) for h in steps]


@pytest.mark.parametrize(
    ("power", "verdict"),
    [(2.0, Verdict.PASS), (1.0, Verdict.FAIL), (1.5, Verdict.INCONCLUSIVE), (3.0, Verdict.PASS)],
)
def test_the_slope_decides(power: float, verdict: Verdict) -> None:
    found = opinion(levels(power), 1.0)
    assert found.verdict is verdict
    assert found.slope == pytest.approx(power)


def test_a_remainder_below_the_noise_is_linear() -> None:
    found = opinion(levels(2.0, noise=1e-3, factor=1e-3), 1.0)
    assert found.verdict is Verdict.PASS
    assert found.resolution == pytest.approx(1e-2 / 0.125)


def test_few_levels_above_the_noise_say_nothing() -> None:
    assert opinion(levels(2.0, noise=0.5e-3), 1.0).verdict is Verdict.INCONCLUSIVE
    assert opinion([], 1.0).verdict is Verdict.INCONCLUSIVE


def test_every_result_has_levels_for_a_plot() -> None:
    (result,) = checked(target_of("tanh")).results
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


def test_a_doubt_about_elements_can_be_settled_along_directions() -> None:
    # float32 alone: no single step is seen well beside a large constant
    target = NumpyTarget(
        lambda x: np.sin(x) + x.dtype.type(30), lambda x, v: v * np.cos(x), [X], "float32"
    )
    right = checked(target, shadow="off", resolution=1e-5)
    assert right.verdict is not Verdict.FAIL
    target.backward = lambda x, v: 2 * v * np.cos(x)
    assert checked(target, shadow="off", resolution=1e-5).verdict is Verdict.FAIL


def test_the_largest_window_above_the_noise_makes_the_slope() -> None:
    # two levels that stand out, a gap, and four of a wrong gradient
    remainders = [1.0, 0.25, 0.0, 0.5, 0.25, 0.125, 0.0625, 0.0]
    rows = [Level(2.0**-k, 1.0, 1e-6, r) for k, r in enumerate(remainders)]
    found = opinion(rows, 1.0)
    assert found.slope == pytest.approx(1.0)
    assert found.verdict is Verdict.FAIL
    right = [0.0, 0.0, 4.0**-2, 4.0**-3, 4.0**-4, 0.0, 1.0, 0.5]
    rows = [Level(2.0**-k, 1.0, 1e-6, r) for k, r in enumerate(right)]
    found = opinion(rows, 1.0)
    assert found.slope == pytest.approx(2.0)
    assert found.verdict is Verdict.PASS


@pytest.mark.parametrize(("count", "decided"), [(2, False), (3, True)])
def test_three_levels_make_a_slope(count: int, decided: bool) -> None:
    rows = [Level(2.0**-k, 1.0, 1e-6, 4.0**-k if k < count else 0.0) for k in range(8)]
    found = opinion(rows, 1.0)
    assert (found.verdict is Verdict.PASS) == decided
    assert np.isnan(found.slope) != decided


@pytest.mark.parametrize(
    ("power", "verdict"),
    [
        (1.82, Verdict.PASS),
        (1.78, Verdict.INCONCLUSIVE),
        (1.32, Verdict.INCONCLUSIVE),
        (1.28, Verdict.FAIL),
    ],
)
def test_between_two_slopes_nothing_is_said(power: float, verdict: Verdict) -> None:
    assert opinion(levels(power), 1.0).verdict is verdict


@pytest.mark.parametrize("times", [9.0, 11.0])
def test_remainders_are_seen_from_ten_times_the_noise(times: float) -> None:
    rows = [Level(2.0**-k, 1.0, 0.25, times * 0.25 * 2.0**-k) for k in range(8)]
    found = opinion(rows, 5.0)
    assert found.verdict is (Verdict.PASS if times < 10 else Verdict.FAIL)
    assert found.resolution == pytest.approx(max(times, 10) * 0.25 / 5)


def test_the_resolution_is_relative_to_the_claim() -> None:
    assert opinion(levels(2.0), 1.0).resolution == pytest.approx(2.0**-14)
    assert opinion(levels(2.0), -4.0).resolution == pytest.approx(2.0**-16)
    assert opinion(levels(2.0), 0.0).resolution == np.inf
    assert opinion([], 1.0).resolution == np.inf


class Alone(Session):
    def __init__(self, f, vjp, **settings) -> None:
        settings = {"shadow": "off", "cotangents": 1, **settings}
        super().__init__(NumpyTarget(f, vjp, [X]), GradCheckConfig(**settings))


def test_levels_are_those_of_the_function_along_the_direction() -> None:
    session = Alone(np.sin, lambda x, v: v * np.cos(x))
    found, reference, claimed = trace(session, 0, 1, None)
    d, v = session.direction(0, 1), session.weights(1)
    exact = float(np.sum(v * np.cos(X.ravel()) * d))
    assert claimed == pytest.approx(exact, rel=1e-12)
    assert reference.value[0, 0] == pytest.approx(exact, rel=1e-8)

    def phi(h: float) -> float:
        return float(np.sum(v * np.sin(X.ravel() + h * d)))

    for level in found:
        h = level.step
        assert level.difference == pytest.approx((phi(h) - phi(-h)) / 2 / h, rel=1e-8)
        assert level.remainder == pytest.approx(abs(phi(h) - phi(0) - h * claimed), abs=1e-13)
        assert 0 < level.noise < 1e-6


def test_evaluations_of_levels_are_counted() -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return np.sin(x)

    session = Alone(f, lambda x, v: v * np.cos(x))
    before, counted = count[0], session.calls.forwards
    trace(session, 0, 0, None)
    assert session.calls.forwards - counted == count[0] - before > 0


def smooth(x):
    return np.sin(x)


@pytest.mark.parametrize(
    ("f", "factor", "settings", "verdict"),
    [
        (smooth, 1.0, {"resolution": 1e-4}, Verdict.PASS),
        (smooth, 1.1, {}, Verdict.FAIL),
        (smooth, 0.9, {}, Verdict.FAIL),
        (smooth, -1.0, {}, Verdict.FAIL),
        (smooth, 1.0, {"resolution": 1e-12}, Verdict.INCONCLUSIVE),
        (smooth, 1.1, {"resolution": 1e-12}, Verdict.FAIL),
        (smooth, 1.1, {"budget_s": 1e-9}, Verdict.INCONCLUSIVE),
    ],
)
def test_a_second_opinion_needs_all_directions(f, factor, settings, verdict: Verdict) -> None:
    session = Alone(f, lambda x, v: factor * v * np.cos(x), **settings)
    assert second_opinion(session, 0, None).verdict is verdict


def test_one_wrong_direction_is_enough_and_the_worst_resolution_counts() -> None:
    session = Alone(smooth, lambda x, v: v * np.cos(x))
    resolutions = [opinion(*trace(session, 0, p, None)[::2]).resolution for p in range(4)]
    assert second_opinion(session, 0, None).resolution == max(resolutions)
    wrong = {"count": 0}

    def vjp(x, v):
        wrong["count"] += 1
        return v * np.cos(x) * (1.5 if wrong["count"] == 3 else 1.0)

    assert second_opinion(Alone(smooth, vjp), 0, None).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.abs(x - X),
        lambda x: np.where(x > X, 1.0, 0.0) + x,
        lambda x: np.sqrt(np.where((x < X).any(), np.nan, 1.0)) * x,
    ],
)
def test_where_there_is_no_derivative_the_remainder_says_nothing(f) -> None:
    found = second_opinion(Alone(f, lambda x, v: v), 0, None)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert np.isnan(found.slope)
    assert found.resolution == np.inf


def bent(changes: list[float], noise: float | list[float] = 0.0) -> list[Level]:
    """A remainder that falls like h, with quotients that change by so much from step to step."""
    quotients = np.cumsum([0.0, *changes])
    noises = np.broadcast_to(noise, quotients.shape)
    return [
        Level(2.0**-k, q, n, 2.0**-k)
        for k, (q, n) in enumerate(zip(quotients, noises, strict=True))
    ]


@pytest.mark.parametrize(
    ("changes", "noise", "verdict"),
    [
        ([1.0, 0.49, 0.24], 0.0, Verdict.FAIL),
        ([-1.0, 0.49, -0.24], 0.0, Verdict.FAIL),
        ([1.0, 0.51, 0.25], 0.0, Verdict.INCONCLUSIVE),
        ([1.0, 0.49, 0.25], 0.0, Verdict.INCONCLUSIVE),
        ([1.0, 0.49, -0.25], 0.0, Verdict.INCONCLUSIVE),
        ([1.0, 0.55, 0.27], 0.03, Verdict.FAIL),
        ([1.0, 0.55, 0.27], 0.02, Verdict.INCONCLUSIVE),
        ([1.0, 0.49, 0.27], [0.0, 0.0, 0.0, 0.03], Verdict.FAIL),
        ([1.0, 0.52, 0.25], [0.0, 0.0, 0.03, 0.0], Verdict.FAIL),
        ([1.0, 0.52, 0.25], [0.03, 0.0, 0.0, 0.0], Verdict.INCONCLUSIVE),
        ([0.1, 3.0, 1.0, 0.4, 0.1], 0.0, Verdict.FAIL),
        ([3.0, 0.1, 1.0, 0.4, 0.1], 0.0, Verdict.FAIL),
        ([0.1, 1.0, 0.4, 0.1], 0.0, Verdict.FAIL),
    ],
)
def test_quotients_that_do_not_converge_say_nothing(changes, noise, verdict: Verdict) -> None:
    assert opinion(bent(changes, noise), 1.0).verdict is verdict


def test_two_levels_far_down_are_too_few() -> None:
    remainders = [0.0] * 4 + [4.0**-5, 4.0**-6] + [0.0] * 3
    rows = [Level(2.0**-k, 1.0, 1e-9, r) for k, r in enumerate(remainders)]
    found = opinion(rows, 1.0)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert np.isnan(found.slope)


@pytest.mark.parametrize(
    ("claimed", "verdict"),
    [
        (1.29, Verdict.INCONCLUSIVE),
        (1.31, Verdict.FAIL),
        (0.71, Verdict.INCONCLUSIVE),
        (0.69, Verdict.FAIL),
    ],
)
def test_a_slope_accuses_only_what_the_error_bar_refutes(monkeypatch, claimed, verdict) -> None:
    one = np.ones((1, 1))
    reference = Reference(one, 0.1 * one, one, one, one, np.zeros(1, np.uint8))
    monkeypatch.setattr(
        "fluidcore.gradcheck.taylor.trace", lambda *_: (levels(1.0), reference, claimed)
    )
    session = Alone(smooth, lambda x, v: v * np.cos(x))
    assert second_opinion(session, 0, None).verdict is verdict
