"""Large inputs are checked along random directions."""

import numpy as np
import pytest
from judged import Directional, directional
from targets import NumpyTarget, checked

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure import directions
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(6).standard_normal((60, 50))


def check_directions(session: Session, k: int, noise) -> Directional:
    return directional(directions.check_directions(session, k, noise))


def tanh(faults=None, factor: float = 1.0, dtype: str = "float64") -> NumpyTarget:
    def vjp(x, v):
        a = v * (1 - np.tanh(x) ** 2) * x.dtype.type(factor)
        for index, wrong in (faults or {}).items():
            a.reshape(-1)[index] *= x.dtype.type(wrong)
        return a

    return NumpyTarget(np.tanh, vjp, [X], dtype)


def test_many_elements_are_looked_at_together() -> None:
    (result,) = checked(tanh()).results
    assert result.mode == "directional"
    assert result.verdict is Verdict.PASS
    assert (result.num_elements, result.num_passed) == (1, 1)
    assert result.num_forward < 10
    assert 0 < result.min_detectable_99 < 1e-4
    assert not result.levels
    assert len(checked(tanh(), levels=True).results[0].levels) >= 3


def test_a_doubt_takes_four_directions() -> None:
    (result,) = checked(tanh({77: 2.0})).results
    assert (result.num_elements, result.verdict) == (4, Verdict.FAIL)
    assert 0 < result.min_detectable_99 < 1e-3
    assert len(result.levels) >= 9


def test_a_wrong_input_may_have_fewer_elements_than_there_are_directions() -> None:
    one = NumpyTarget(np.tanh, tanh({0: 2.0}).backward, [X[0, :1]])
    result = checked(one, mode="directional").results[0]
    assert result.verdict is Verdict.FAIL
    assert result.shape == (1,)
    assert "wrong along" in result.detail


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_kernels_of_large_inputs_are_judged_element_by_element(dtype: str) -> None:
    formula, kernel = checked(tanh(dtype=dtype)).results
    assert formula.verdict is kernel.verdict is Verdict.PASS
    assert kernel.num_elements == X.size


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_wrong_elements_are_found_by_halving(dtype: str) -> None:
    result = checked(tanh({1234: 1.5, 77: 0.0}, dtype=dtype)).results[0]
    assert result.verdict is Verdict.FAIL
    assert result.reasons == (Reason.MISMATCH,)
    found = {error.index: error for error in result.element_errors or ()}
    assert set(found) == {77, 1234}
    assert found[1234].analytical == pytest.approx(1.5 * found[1234].numerical)


def test_an_error_everywhere_is_not_searched_forever() -> None:
    (result,) = checked(tanh(factor=1.001)).results
    assert result.verdict is Verdict.FAIL
    assert 1 <= len(result.element_errors or ()) <= 20


def test_every_mode_can_be_asked_for() -> None:
    small = NumpyTarget(np.tanh, tanh().backward, [X[:2]])
    assert checked(small).results[0].mode == "full"
    assert checked(small, mode="directional").results[0].mode == "directional"
    assert checked(small, n_full=99).results[0].mode == "directional"
    assert checked(tanh(), mode="full", subset=9).results[0].mode == "full"


def test_more_probes_are_less_blind() -> None:
    spots = [core.blind_spot(r) for r in (1, 2, 3, 4)]
    assert spots == pytest.approx([0.0125, 0.126, 0.273, 0.407], abs=1e-3)


def test_kinks_along_a_direction_are_no_error() -> None:
    relu = NumpyTarget(
        lambda x: np.maximum(x, 0), lambda x, v: v * (x > 0).astype(x.dtype), [X], "float32"
    )
    assert checked(relu).verdict is Verdict.PASS


def test_a_rough_function_is_not_judged() -> None:
    rough = NumpyTarget(lambda x: np.sin(1e10 * x), lambda x, v: 1e10 * v * np.cos(1e10 * x), [X])
    for seed in range(5):
        assert checked(rough, seed=seed).verdict is Verdict.INCONCLUSIVE


def session_of(target: NumpyTarget, **settings) -> Session:
    return Session(target, GradCheckConfig(**settings))


def test_every_direction_has_its_cotangent_and_its_terms() -> None:
    session = session_of(tanh(), probes=3)
    judgement = check_directions(session, 0, None).judgement
    slope = (1 - np.tanh(X) ** 2).ravel()
    for probe in range(3):
        terms = session.weights(probe) * slope * session.direction(0, probe)
        assert judgement.analytical[0, probe] == pytest.approx(terms.sum(), rel=1e-9)
        assert judgement.reference.value[0, probe] == pytest.approx(terms.sum(), rel=1e-6)
        assert judgement.reference.scale[0, probe] == pytest.approx(np.abs(terms).sum(), rel=1e-9)
    np.testing.assert_allclose(
        judgement.limit, 3 * judgement.reference.error + 1e-9 * judgement.reference.scale
    )


def test_alone_a_direction_is_as_precise_as_its_dtype() -> None:
    session = session_of(tanh(dtype="float32"), shadow="off")
    judgement = check_directions(session, 0, None).judgement
    tolerance = judgement.limit - 3 * judgement.reference.error
    expected = judgement.reference.native.alone_tolerance("float32")
    np.testing.assert_allclose(tolerance, expected, rtol=0.1)


def test_what_one_element_must_be_off_by_is_relative_to_the_root_mean_square() -> None:
    session = session_of(tanh(), probes=2)
    found = check_directions(session, 0, None)
    size = np.sqrt(np.mean(session.gradients(0, "float64")[0] ** 2))
    expected = found.judgement.limit.max() / core.blind_spot(2) / size
    assert found.min_detectable_99 == pytest.approx(expected, rel=1e-12)
    nothing = NumpyTarget(lambda x: 0 * x, lambda x, v: 0 * v, [X])
    assert check_directions(session_of(nothing), 0, None).min_detectable_99 == np.inf


def counted(factors=None) -> tuple[NumpyTarget, list[int]]:
    count = [0]

    def f(x):
        count[0] += 1
        return np.tanh(x)

    target = tanh(factors)
    target.f = f
    return target, count


@pytest.mark.parametrize("faults", [None, {5: 2.0, 2999: 0.0}])
def test_evaluations_are_counted(faults) -> None:
    target, count = counted(faults)
    session = session_of(target)
    before, known = count[0], session.calls.forwards
    found = check_directions(session, 0, None)
    assert session.calls.forwards - known == count[0] - before > 0
    assert {index for index, _ in found.culprits} == set(faults or ())


@pytest.mark.parametrize("size", [9, 8, 7, 1])
def test_few_elements_are_looked_at_one_by_one(size: int) -> None:
    faults = dict.fromkeys(range(size), 1.5)
    target = NumpyTarget(np.tanh, tanh(faults).backward, [X[0, :size]])
    found = check_directions(session_of(target), 0, None)
    assert sorted(index for index, _ in found.culprits) == list(range(size))
    for index, one in found.culprits:
        assert one.wrong.all()
        assert one.analytical[0, 0] == pytest.approx(1.5 * one.reference.value[0, 0], rel=1e-6)
        assert one.limit[0, 0] < 1e-6, index


def test_the_search_stops_when_it_has_found_enough() -> None:
    target, _ = counted()
    target.backward = tanh(factor=1.5).backward
    found = check_directions(session_of(target), 0, None)
    assert 10 <= len(found.culprits) <= 17


def test_the_search_follows_the_worst_direction() -> None:
    session = session_of(tanh({1234: 1.5}))
    found = check_directions(session, 0, None)
    worst = int(np.argmax(found.judgement.excess[0]))
    _, one = found.culprits[0]
    expected = session.gradients(worst, "float64")[0][1234]
    assert one.analytical[0, 0] == expected


def test_the_first_failure_of_f_is_kept() -> None:
    def f(x):
        if (x < X - 0.05).any():
            raise ValueError("outside")
        return np.tanh(x)

    target = NumpyTarget(f, tanh().backward, [X])
    assert "outside" in (check_directions(session_of(target), 0, None).failure or "")
    assert check_directions(session_of(tanh()), 0, None).failure is None


def test_without_time_directions_say_nothing() -> None:
    session = session_of(tanh({1234: 1.5}))
    with core.TimeLimit(1e-9), pytest.raises(core.OutOfTime):
        check_directions(session, 0, None)


@pytest.mark.parametrize(("size", "leaf"), [(8, 8), (16, 8), (18, 4), (32, 8)])
def test_groups_are_halved_until_there_are_eight(size: int, leaf: int) -> None:
    alone: set[int] = set()

    def f(x):
        moved = np.flatnonzero(x != X[0, :size])
        if moved.size == 1:
            alone.update(moved.tolist())
        return np.tanh(x)

    target = NumpyTarget(f, tanh({3: 1.5}).backward, [X[0, :size]])
    found = check_directions(session_of(target), 0, None)
    assert [index for index, _ in found.culprits] == [3]
    assert alone == set(range(leaf))


def largest_of_pairs(faults=None, tied: float = 0.0) -> NumpyTarget:
    """Half of the pairs are tied; the gradient of the second of these is `tied` times v."""
    x = np.random.default_rng(7).standard_normal((1500, 2))
    x[::2, 1] = x[::2, 0]

    def vjp(x, v):
        a = np.zeros_like(x)
        a[np.arange(len(x)), x.argmax(axis=1)] = v
        is_tied = x[:, 0] == x[:, 1]
        a[is_tied, 1] = tied * v[is_tied]
        for index, wrong in (faults or {}).items():
            a.reshape(-1)[index] *= wrong
        return a

    return NumpyTarget(lambda x: x.max(axis=1), vjp, [x])


def test_ties_without_number_are_proven_along_directions_that_keep_the_branch() -> None:
    for seed in range(4):
        (result,) = checked(largest_of_pairs(), seed=seed).results
        assert (result.verdict, result.mode) == (Verdict.PASS, "directional")
        assert result.min_detectable_99 < 1e-4
        assert result.num_forward < 400


@pytest.mark.parametrize("index", [0, int(2 + largest_of_pairs().inputs[0].value[1].argmax())])
def test_an_error_at_a_tie_or_beside_ties_is_found(index: int) -> None:
    (result,) = checked(largest_of_pairs({index: 1.5})).results
    assert result.verdict is Verdict.FAIL
    assert [error.index for error in result.element_errors or ()] == [index]


def test_one_for_each_of_all_that_are_tied_is_no_gradient_of_a_branch() -> None:
    for seed in range(4):
        (result,) = checked(largest_of_pairs(tied=1.0), seed=seed).results
        assert (result.verdict, result.reasons) == (Verdict.INCONCLUSIVE, (Reason.KINK,))


def test_equal_values_have_a_median_that_directions_prove() -> None:
    x = np.repeat(np.random.default_rng(8).standard_normal(1000), 3)

    def vjp(x, v):
        a = np.zeros((1000, 3))
        a[np.arange(1000), np.argsort(x.reshape(-1, 3), kind="stable")[:, 1]] = v
        return a.reshape(-1)

    (result,) = checked(
        NumpyTarget(lambda x: np.median(x.reshape(-1, 3), axis=1), vjp, [x])
    ).results
    assert (result.verdict, result.mode) == (Verdict.PASS, "directional")


def test_rounding_on_the_side_of_the_branch_is_no_kink() -> None:
    random = np.random.default_rng(3)
    x = random.standard_normal(20_000)
    x[random.random(20_000) < 0.3] = 0

    def vjp(x, v):
        return v * np.where(x > 0, np.cos(x) - x * np.sin(x), 0)

    (result,) = checked(NumpyTarget(lambda x: np.maximum(x, 0) * np.cos(x), vjp, [x])).results
    assert (result.verdict, result.mode) == (Verdict.PASS, "directional")
