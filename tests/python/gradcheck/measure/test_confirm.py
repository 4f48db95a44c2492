"""A second measurement of what the first does not prove."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from judged import KINK, SUBGRADIENT, Judgement, Reference, judge
from targets import NumpyTarget, checked

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.native import native_formula
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.verdict import Reason, Verdict

TIED = np.array([1.0, 1.0, 1.0, 0.0, 0.2])
MIDDLE = np.array([1.0, 1.0, 1.0, 0.0, 2.0])


class Counted(NumpyTarget):
    """f of one array, a claim for the gradient of its result, and how often f ran."""

    def __init__(self, f: Callable, claimed, x, dtype: str = "float64", **options) -> None:
        self.count = 0

        def run(x):
            self.count += 1
            return f(x)

        def vjp(x, v):
            return (v * np.asarray(claimed)).astype(x.dtype)

        super().__init__(run, vjp, [x], dtype, **options)


def largest(x):
    return x.max()


def median(x):
    return np.sort(x)[x.size // 2]


def median_of_three(chosen: int, factor: float = 1.0) -> NumpyTarget:
    """Of its three equal values, its gradient takes `chosen` for the one in the middle."""
    rank = np.zeros(5)
    rank[[i for i in range(3) if i != chosen]] = -1, 1

    def vjp(x, v):
        return v * factor * (np.arange(5) == np.lexsort((rank, x))[2])

    return NumpyTarget(median, vjp, [MIDDLE])


def relu(x):
    return np.maximum(x, 0)


def weak_kinks(x):
    return np.sum(x + 1e-4 * np.abs(x))


def rounded_inside(x):
    return np.sum(np.sin(x).astype(np.float32)).astype(x.dtype)


def unit(i: int, value: float = 1.0) -> list[float]:
    return [value * (i == j) for j in range(5)]


def session_of(target: NumpyTarget, **settings) -> Session:
    return Session(target, GradCheckConfig(**{"workers": 1, **settings}))


def first(session: Session, elements=None) -> Judgement:
    """By one measurement."""
    if elements is None:
        elements = np.arange(session.target.inputs[0].value.size)
    weights = [session.weights(i) for i in range(session.num_cotangents)]
    reference = Reference.of(
        core.differentiate(session.function, 0, weights, elements=elements, workers=1)
    )
    claimed = session.analytical(0, session.dtype)[:, elements]
    tolerance = reference.native.formula_tolerance()
    return judge(reference, claimed, tolerance, session.rules)


def twice(session: Session, elements=None) -> Judgement:
    """After a second measurement of what the first does not prove."""
    if elements is None:
        elements = np.arange(session.target.inputs[0].value.size)
    formula = native_formula(session, Noise(None, [], False, ""))
    found = formula.check_elements(
        0,
        elements,
        rows=0,
        direction=lambda: session.direction(0, 0),
        claimed=session.analytical(0, session.dtype)[:, elements],
    )
    assert found is not None
    return Judgement(found.judgement, Reference.of(found.reference))


def verdict_of(f: Callable, claimed, x, **settings) -> Verdict:
    return checked(NumpyTarget(f, Counted(f, claimed, x).backward, [x]), **settings).verdict


@pytest.mark.parametrize("at", [0, 7, 12, 19])
def test_one_wrong_element_among_twenty_at_weak_kinks_is_found(at: int) -> None:
    x = np.where(np.arange(20) < 12, 0.0, 0.5 + 0.02 * np.arange(20))
    claimed = np.full(20, 1.0001)
    assert twice(session_of(Counted(weak_kinks, claimed, x))).is_proven
    assert verdict_of(weak_kinks, claimed, x) is Verdict.PASS
    claimed[at] = -5
    found = twice(session_of(Counted(weak_kinks, claimed, x)))
    assert found.verdict is Verdict.FAIL
    assert np.flatnonzero(found.wrong.any(0)).tolist() == [at]
    report = checked(Counted(weak_kinks, claimed, x))
    assert report.verdict is Verdict.FAIL
    assert [error.index for error in report.results[0].element_errors or ()] == [at]


@pytest.mark.parametrize(
    ("claimed", "verdict"),
    [
        (unit(0), Verdict.PASS),
        (unit(1), Verdict.PASS),
        (unit(2), Verdict.PASS),
        ([1 / 3, 1 / 3, 1 / 3, 0, 0], Verdict.PASS),
        ([0.2, 0.3, 0.5, 0, 0], Verdict.PASS),
        ([1, 1, 1, 0, 0], Verdict.INCONCLUSIVE),
        ([1, 1, 0, 0, 0], Verdict.INCONCLUSIVE),
        ([0, 0, 0, 0, 0], Verdict.INCONCLUSIVE),
        (unit(0, 2.0), Verdict.FAIL),
        (unit(0, -0.5), Verdict.FAIL),
        ([1, 0, 0, 1, 0], Verdict.FAIL),
    ],
)
def test_at_a_tie_of_a_maximum_the_gradient_of_the_whole_is_right(claimed, verdict) -> None:
    assert twice(session_of(Counted(largest, claimed, TIED))).verdict is verdict
    assert verdict_of(largest, claimed, TIED) is verdict


def test_what_is_open_at_a_tie_is_a_kink() -> None:
    (result,) = checked(Counted(largest, [1, 1, 1, 0, 0], TIED)).results
    assert (result.verdict, result.reasons) == (Verdict.INCONCLUSIVE, (Reason.KINK,))
    assert (result.num_elements, result.num_passed, result.kinks) == (5, 2, 3)


@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_a_median_of_three_equal_values_may_choose_any_of_them(chosen: int) -> None:
    assert checked(median_of_three(chosen), mode="full").verdict is Verdict.PASS
    for factor in (1.5, -1.0):
        assert checked(median_of_three(chosen, factor), mode="full").verdict is Verdict.FAIL
    assert verdict_of(median, unit(3), MIDDLE) is Verdict.FAIL


def test_between_the_slopes_at_a_kink_all_is_right_and_nothing_else() -> None:
    x = np.array([0.0, 1.0, -1.0, 0.0])
    for slope, verdict in (
        (0.0, Verdict.PASS),
        (0.5, Verdict.PASS),
        (1.0, Verdict.PASS),
        (-0.01, Verdict.FAIL),
        (1.01, Verdict.FAIL),
    ):
        session = session_of(Counted(relu, [slope, 1, 0, 0], x))
        found = twice(session)
        expected = np.abs([session.weights(i) for i in range(2)]) * (x == 0)
        assert found.verdict is verdict
        np.testing.assert_allclose(found.reference.high - found.reference.low, expected, rtol=1e-9)
        assert found.reference.flags.tolist() == [KINK | SUBGRADIENT, 0, 0, KINK | SUBGRADIENT]


def test_every_element_at_a_kink_of_its_own_chooses_for_itself() -> None:
    def f(x):
        return np.abs(x[0]) - np.abs(x[1]) + 2 * relu(x[2]) + x[3]

    x = np.array([0.0, 0.0, 0.0, 1.0])
    for claimed, verdict in (
        ([1, 1, 0, 1], Verdict.PASS),
        ([-1, 1, 2, 1], Verdict.PASS),
        ([0.5, -0.3, 1, 1], Verdict.PASS),
        ([1, 1, 2.5, 1], Verdict.FAIL),
        ([1, 1, 2, 1.01], Verdict.FAIL),
    ):
        assert verdict_of(f, claimed, x) is verdict


def test_what_rounding_inside_of_f_explains_is_not_wrong() -> None:
    x = np.array([0.1, -0.7, 1.3, 2.2])
    right = Counted(rounded_inside, np.cos(x), x)
    assert first(session_of(right)).verdict is Verdict.FAIL
    assert twice(session_of(right)).verdict is Verdict.INCONCLUSIVE
    assert checked(right).verdict is Verdict.INCONCLUSIVE
    wrong = Counted(rounded_inside, 1.01 * np.cos(x), x)
    assert twice(session_of(wrong)).verdict is Verdict.FAIL
    assert checked(wrong).verdict is Verdict.FAIL


def test_what_other_steps_contradict_is_neither_right_nor_wrong() -> None:
    x = np.array([1e10])
    for claimed in (np.cos(x), 0 * x):
        assert verdict_of(lambda x: np.sin(x).sum(), claimed, x) is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, Verdict.INCONCLUSIVE), (2.0, Verdict.FAIL)])
def test_what_no_step_sees_well_stays_open(factor: float, verdict: Verdict) -> None:
    x = np.random.default_rng(8).standard_normal((3, 4))
    target = NumpyTarget(
        lambda x: np.sin(x) + x.dtype.type(30), lambda x, v: factor * v * np.cos(x), [x], "float32"
    )
    assert checked(target, shadow="off", resolution=1e-5).verdict is verdict


def test_a_jump_stays_open_beside_elements_that_are_right() -> None:
    x = np.array([0.0, 0.4, -1.2])
    for factor, verdict, reason in (
        (1.0, Verdict.INCONCLUSIVE, Reason.JUMP),
        (1.01, Verdict.FAIL, Reason.MISMATCH),
    ):
        claimed = (1 - np.tanh(x) ** 2) * [1, 1, factor]
        (result,) = checked(Counted(lambda x: np.tanh(x) + (x >= 0), claimed, x)).results
        assert (result.verdict, result.reasons) == (verdict, (reason,))


def kinked(faults=None, size: int = 40) -> NumpyTarget:
    """Half of the elements are at kinks, each with a slope of its own choice."""
    x = np.where(np.arange(size) % 2, 0.0, 1.0 + np.arange(size) / 10)
    choice = np.where(np.arange(size) % 4 == 1, 1.0, np.where(x == 0, 0.0, 1.0))
    for index, factor in (faults or {}).items():
        choice[index] *= factor
    return NumpyTarget(relu, lambda x, v: v * choice.astype(x.dtype), [x])


def test_directions_across_several_kinks_decide_nothing() -> None:
    for seed in range(4):
        (result,) = checked(kinked(), seed=seed, mode="directional").results
        assert (result.verdict, result.reasons) == (Verdict.INCONCLUSIVE, (Reason.KINK,))
        assert result.element_errors is None
        (result,) = checked(kinked(), seed=seed, mode="full").results
        assert (result.verdict, result.reasons) == (Verdict.PASS, ())


@pytest.mark.parametrize("at", [0, 38])
def test_kinks_of_other_elements_hide_no_error(at: int) -> None:
    for seed, mode in product(range(4), ("directional", "full")):
        (result,) = checked(kinked({at: 1.1}), seed=seed, mode=mode).results
        assert (result.verdict, result.reasons) == (Verdict.FAIL, (Reason.MISMATCH,))
        assert [error.index for error in result.element_errors or ()] == [at]


@pytest.mark.parametrize("at", [0, 38])
def test_directions_across_several_kinks_find_an_element_that_is_wrong(at: int) -> None:
    for seed in range(4):
        (result,) = checked(kinked({at: 1e4}), seed=seed, mode="directional").results
        assert (result.verdict, result.reasons) == (Verdict.FAIL, (Reason.MISMATCH,))
        assert [error.index for error in result.element_errors or ()] == [at]


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_a_kink_that_is_forbidden_fails_after_two_measurements(slope: float) -> None:
    x = np.array([0.0, 1.0, -1.0])
    target = Counted(relu, [slope, 1, 0], x)
    found = twice(session_of(target, on_kink="fail"))
    assert found.verdict is Verdict.FAIL
    assert found.wrong.any(0).tolist() == [True, False, False]
    (result,) = checked(target, on_kink="fail").results
    assert (result.verdict, result.reasons) == (Verdict.FAIL, (Reason.KINK,))


@pytest.mark.parametrize("slope", [0.0, 0.5, 7.0])
def test_a_kink_that_is_left_out_is_neither_right_nor_wrong(slope: float) -> None:
    x = np.array([0.0, 1.0, -1.0])
    for claimed, verdict in (([slope, 1, 0], Verdict.PASS), ([slope, 1.1, 0], Verdict.FAIL)):
        target = Counted(relu, claimed, x)
        found = twice(session_of(target, on_kink="skip"))
        assert found.verdict is verdict
        assert found.counted.tolist() == [False, True, True]
        assert checked(target, on_kink="skip").verdict is verdict


@pytest.mark.parametrize(
    ("f", "claimed", "x"),
    [
        (largest, unit(0), TIED),
        (median, unit(1), MIDDLE),
        (median, unit(1, 1.5), MIDDLE),
        (relu, [0.5, 0.2, 1, 0, 3], np.array([0.0, 0.0, 1.0, -1.0, 2.0])),
    ],
)
def test_evaluations_are_counted_and_the_input_is_put_back(f, claimed, x) -> None:
    target = Counted(f, claimed, x)
    session = session_of(target)
    formula = native_formula(session, Noise(None, [], False, ""))
    ran = target.count
    twice(session)
    assert formula.evaluations == target.count - ran > 0
    np.testing.assert_array_equal(np.asarray(session.function.inputs()[0]), x)
    np.testing.assert_array_equal(target.inputs[0].value, x)


def test_the_second_measurement_is_part_of_what_a_result_has_cost() -> None:
    proven, doubtful = (
        checked(Counted(largest, unit(0), x)).results[0].num_forward
        for x in (np.array([1.0, 0.5, 0.3, 0.0, 0.2]), TIED)
    )
    assert doubtful > proven + 20


def test_some_elements_are_measured_again_by_their_own_places() -> None:
    x = np.array([0.3, 0.0, -1.0, 0.0, 2.0])
    elements = np.array([1, 3, 4])
    found = twice(session_of(Counted(relu, [9, 0.5, 9, 0.2, 1], x)), elements)
    assert found.verdict is Verdict.PASS
    assert found.at_kink.tolist() == [True, True, False]
    found = twice(session_of(Counted(relu, [9, 0.5, 9, 1.2, 1], x)), elements)
    assert found.wrong.any(0).tolist() == [False, True, False]


def test_rows_are_measured_again_as_elements_are() -> None:
    x = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 2.0]])
    for claimed, verdict in (
        ([[0.5, 1], [1, 0], [0, 1]], Verdict.PASS),
        ([[0.5, 1], [1.2, 0], [0, 1]], Verdict.FAIL),
    ):
        target = Counted(relu, claimed, x, rows=3)
        results = [checked(target, mode=mode).results[0] for mode in ("coloured", "full")]
        assert [result.mode for result in results] == ["coloured", "full"]
        assert [result.verdict for result in results] == [verdict] * 2
        wrong = [[error.index for error in one.element_errors or ()] for one in results]
        assert wrong == [[2]] * 2 if verdict is Verdict.FAIL else wrong == [[]] * 2


def test_threads_change_nothing() -> None:
    for f, claimed, x in ((largest, [1, 1, 1, 0, 0], TIED), (median, unit(0, 1.5), MIDDLE)):
        one, two = (twice(session_of(Counted(f, claimed, x), workers=n)) for n in (1, 2))
        for a, b in zip(one.reference.numbers, two.reference.numbers, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(one.wrong, two.wrong)


def test_the_floor_of_noise_is_what_lines_and_runs_tell() -> None:
    exact = session_of(Counted(lambda x: 2 * x, 2, TIED))
    assert exact.noise_floor(None).near.size == 0
    given = np.linspace(0, 1, 5)
    np.testing.assert_array_equal(exact.noise_floor(given).near, given)
    rounded = session_of(Counted(rounded_inside, np.cos(TIED), TIED))
    near = rounded.noise_floor(None).near.item()
    assert 1e-8 < near < 1e-6
    assert rounded.noise_floor(np.array([1.0])).near == 1.0
    assert rounded.noise_floor(np.array([1e-12])).near == near


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_in_16_bits_runs_alone_tell_the_noise(dtype: str) -> None:
    target = Counted(np.sin, np.cos(TIED), TIED, dtype)
    session = session_of(target, shadow="off")
    ran = target.count
    level = session.noise_floor(None)
    assert level.near.size == level.far.size == 0
    given = np.linspace(0, 1, 5)
    np.testing.assert_array_equal(session.noise_floor(given).near, given)
    assert target.count == ran


def hidden_layer(seed: int, width: int, off: float = 0.0) -> NumpyTarget:
    """Two rows of zeros, as of padding: there all units of a hidden layer are at kinks."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((4, 5))
    x[::2] = 0
    inner, outer = random.standard_normal((5, width)), random.standard_normal((width, 3))

    def vjp(x, v):
        a = ((v @ outer.T) * (x @ inner > 0)) @ inner.T
        a[0, 0] += off * v[0, 0]
        return a

    return NumpyTarget(lambda x: relu(x @ inner) @ outer, vjp, [x])


@pytest.mark.parametrize("seed", range(6))
def test_a_branch_that_few_points_near_by_meet_is_proven(seed: int) -> None:
    (result,) = checked(hidden_layer(seed, 2), mode="full").results
    assert result.verdict is Verdict.PASS
    (result,) = checked(hidden_layer(seed, 2, off=0.01), mode="full").results
    assert result.verdict is not Verdict.PASS


@pytest.mark.parametrize("width", [3, 5, 20])
def test_where_there_are_more_branches_than_were_met_nobody_is_accused(width: int) -> None:
    proven, open_ = (Verdict.PASS, ()), (Verdict.INCONCLUSIVE, (Reason.KINK,))
    for seed in range(5):
        (result,) = checked(hidden_layer(seed, width), mode="full").results
        assert (result.verdict, result.reasons) in (proven, open_)


def test_equal_shares_of_a_median_are_between_its_branches() -> None:
    def vjp(x, v):
        middle = x == median(x)
        return v * middle / np.count_nonzero(middle)

    assert checked(NumpyTarget(median, vjp, [MIDDLE]), mode="full").verdict is Verdict.PASS


@pytest.mark.parametrize("width", [3, 5, 20])
def test_but_code_that_is_wrong_there_and_beside_it(width: int) -> None:
    verdicts = {
        checked(hidden_layer(seed, width, off=30), mode="full").verdict for seed in range(3)
    }
    assert verdicts == {Verdict.FAIL}
