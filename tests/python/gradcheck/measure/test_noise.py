"""How far f and its gradient repeat themselves."""

import numpy as np
import pytest
from targets import NumpyTarget, checked

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.noise import measure
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.target import Rounding
from fluidcore.gradcheck.verdict import Verdict

X = np.random.default_rng(15).standard_normal(5)


class Noisy(NumpyTarget):
    """x², both ways with relative noise; remembers what it returned."""

    def __init__(self, forward: float = 0.0, backward: float = 0.0, dtype="float64") -> None:
        rng = np.random.default_rng(1)
        self.values: list[np.ndarray] = []
        self.gradients: list[np.ndarray] = []

        def f(x):
            y = x * x * (1 + forward * rng.standard_normal(x.shape)).astype(x.dtype)
            self.values.append(y.astype(np.float64))
            return y

        def vjp(x, v):
            a = 2 * x * v * (1 + backward * rng.standard_normal(x.shape)).astype(x.dtype)
            self.gradients.append(a.astype(np.float64))
            return a

        super().__init__(f, vjp, [X], dtype)


def measured(target: NumpyTarget, *, audits: bool = False, **settings):
    session = Session(target, GradCheckConfig(audits=audits, **settings))
    return measure(session)


def test_a_run_that_is_audited_stands_for_the_second_one() -> None:
    target = Noisy()
    session = Session(target, GradCheckConfig())
    noise = measure(session)
    assert noise.repeats
    assert not any(spread.any() for spread in noise.backward)
    first, second, *others = target.gradients
    np.testing.assert_array_equal(second, first / -64)
    assert session.scaled("float64").is_exact
    assert len(others) == 2  # of a second cotangent, and of the sum


def test_what_does_not_scale_is_run_again() -> None:
    noise = measured(Noisy(backward=1e-9), audits=True)
    assert not noise.repeats
    assert noise.backward[0].all()
    ignores = NumpyTarget(lambda x: x * x, lambda x, v: 2 * x, [X])
    assert measured(ignores, audits=True).repeats


@pytest.mark.parametrize("replicates", [1, 2, 5, 11])
def test_what_repeats_itself_runs_as_often_as_asked_for(replicates: int) -> None:
    target = Noisy()
    noise = measured(target, replicates=replicates)
    assert len(target.values) == len(target.gradients) == replicates
    assert noise.forward is None
    assert (noise.backward[0] == 0).all()
    assert (noise.stochastic, noise.detail) == (False, "")


@pytest.mark.parametrize(("replicates", "runs"), [(2, 8), (8, 8), (11, 11)])
def test_what_does_not_runs_more_often(replicates: int, runs: int) -> None:
    target = Noisy(1e-9, 1e-9)
    measured(target, replicates=replicates)
    assert len(target.values) == len(target.gradients) == runs


def test_one_run_shows_no_noise() -> None:
    noise = measured(Noisy(1e-9, 1e-9), replicates=1)
    assert noise.forward is None
    assert (noise.backward[0] == 0).all()


def test_noise_is_measured_by_standard_deviations() -> None:
    target = Noisy(1e-9, 1e-8)
    noise = measured(target)
    spread = np.std(np.array(target.values) - target.values[0], axis=0, ddof=1)
    np.testing.assert_allclose(noise.forward, 4 * spread, rtol=1e-12)
    np.testing.assert_allclose(noise.backward[0], np.std(target.gradients, axis=0, ddof=1))
    assert not noise.stochastic
    ulps = spread.max() / (2 * UNIT["float64"] * np.abs(target.values[0]).max())
    assert noise.detail == (
        f"f does not repeat itself: {spread.max():.2g} apart in 8 runs, "
        f"{ulps:.2g} ulps of the largest output"
    )


def test_a_thousandth_of_the_largest_output_is_random() -> None:
    noise = measured(Noisy(1e-2))
    assert noise.stochastic
    assert noise.backward == []
    assert noise.forward is None
    assert noise.detail.startswith("f is random: ")
    assert not measured(Noisy(1e-4)).stochastic


def test_outputs_of_zero_that_vary_are_random() -> None:
    rng = np.random.default_rng(0)
    count = [0]

    def f(x):
        count[0] += 1
        return 0 * x if count[0] == 1 else 0 * x + 1e-30 * rng.standard_normal(x.shape)

    noise = measured(NumpyTarget(f, lambda x, v: 0 * v, [X]))
    assert noise.stochastic
    assert "inf ulps" in noise.detail


def test_outputs_that_are_now_and_then_not_finite_are_random() -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return x / (count[0] % 2)

    assert measured(NumpyTarget(f, lambda x, v: v, [X])).stochastic


def test_an_output_that_is_the_same_in_all_runs_has_no_noise() -> None:
    rng = np.random.default_rng(0)

    def f(x):
        y = 0.1 * x
        y[0] += 1e-9 * rng.standard_normal()
        return y

    forward = measured(NumpyTarget(f, lambda x, v: 0.1 * v, [X])).forward
    assert forward is not None
    assert forward[0] > 1e-10
    assert (forward[1:] == 0).all()


def test_outputs_of_another_size_are_random() -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return x[: 6 - count[0]]

    noise = measured(NumpyTarget(f, lambda x, v: 0 * x, [X]))
    assert noise.stochastic
    assert noise.forward is None
    assert "other shapes" in noise.detail


def test_rounding_inside_of_a_float32_function_counts_though_it_repeats_itself() -> None:
    session = Session(Noisy(dtype="float32"), GradCheckConfig(shadow="off", seed=2**32 + 69))
    inner = core.noise_floor(session.function, seed=69)[0].near
    assert inner.any()
    forward = measure(session).forward
    assert forward is None
    np.testing.assert_array_equal(session.noise_floor(forward).near, inner)


@pytest.mark.parametrize("large", [4, 30, 1000])
def test_roundings_in_step_with_powers_of_two_are_no_fault_of_the_gradient(large) -> None:
    def f(x):
        return (np.sin(x) + x.dtype.type(large)) - x.dtype.type(large)

    for seed in range(12):
        x = np.random.default_rng(seed).standard_normal((3, 4))
        target = NumpyTarget(f, lambda x, v: v * np.cos(x), [x], "float32")
        assert checked(target, shadow="off", seed=seed).verdict is not Verdict.FAIL


def test_the_larger_noise_of_both_kinds_counts() -> None:
    session = Session(
        target := Noisy(1e-4, dtype="float32"), GradCheckConfig(audits=False, shadow="off")
    )
    floor = session.noise_floor(measure(session).forward).near
    assert (floor >= 4 * np.std(target.values[:8], axis=0, ddof=1) * (1 - 1e-12)).all()


def deviating(amount: float, run: int = 2):
    """1, but for one run."""
    count = [0]

    def f(x):
        count[0] += 1
        return np.ones(1) + (amount if count[0] == run else 0.0)

    return measured(NumpyTarget(f, lambda x, v: 0 * x, [X]))


def test_a_deviation_of_a_thousandth_is_the_border_of_randomness() -> None:
    one = np.sqrt(8.0)  # one of eight runs that is off by this much deviates by 1
    inexact, random = deviating(0.95e-3 * one), deviating(1.05e-3 * one)
    assert not inexact.stochastic
    np.testing.assert_allclose(inexact.forward, [4 * 0.95e-3])
    assert random.stochastic


def test_every_run_must_have_outputs_of_the_same_size() -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return x[1:] if count[0] == 3 else x

    assert not measured(NumpyTarget(f, lambda x, v: v, [X]), replicates=2).stochastic
    count[0] = 0
    noise = measured(NumpyTarget(f, lambda x, v: v, [X]), replicates=4)
    assert noise.stochastic
    assert noise.detail == "f has outputs of other shapes in a second run"


def test_a_nan_that_repeats_itself_is_no_noise() -> None:
    bad = np.where(np.arange(5) == 2, np.nan, X)
    count = [0, 0]

    def f(x):
        count[0] += 1
        return x + bad

    def vjp(x, v):
        count[1] += 1
        return v + bad

    noise = measured(NumpyTarget(f, vjp, [X]))
    assert count == [2, 2]
    assert noise.forward is None
    assert (noise.stochastic, noise.detail) == (False, "")


@pytest.mark.parametrize("late", [2, 3, 4])
def test_the_first_run_that_differs_asks_for_more(late: int) -> None:
    count = [0, 0]

    def f(x):
        count[0] += 1
        return x * (1 + 1e-9 * (count[0] == late))

    def vjp(x, v):
        count[1] += 1
        return v * (1 + 1e-9 * (count[1] == late))

    measured(NumpyTarget(f, vjp, [X]), replicates=4)
    assert count == [8, 8]


def test_a_target_may_know_of_more_rounding_than_can_be_seen() -> None:
    target = NumpyTarget(np.sin, lambda x, v: v * np.cos(x), [np.ones(3)])
    target.rounding = Rounding(np.array([8.0, 0.0, 2.0]), [np.array([3.0, 5.0, 0.0])])
    noise = measure(Session(target, GradCheckConfig()))
    assert noise.forward is not None
    assert (noise.forward / 2.0**-53).tolist() == [8, 0, 2]
    assert [(part / 2.0**-53).tolist() for part in noise.backward] == [[3, 5, 0]]
    assert not noise.repeats
