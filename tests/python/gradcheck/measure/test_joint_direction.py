"""One direction of all inputs proves gradients right, or leaves them to a look at each alone."""

import numpy as np
import pytest
from targets import NumpyTarget, checked

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.joint_direction import prove
from fluidcore.gradcheck.measure.noise import Noise, measure
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.verdict import Verdict

_RANDOM = np.random.default_rng(3)
X = _RANDOM.standard_normal((12, 20))
W = _RANDOM.standard_normal((20, 15)) * 1e-3
B = _RANDOM.standard_normal(15) * 50


def f(x, w, b):
    return np.tanh(x @ w + 0.01 * b)


def backward(x, w, b, v, faults=()):
    inner = v * (1 - f(x, w, b) ** 2)
    gradients = [inner @ w.T, x.T @ inner, 0.01 * inner.sum(0)]
    for k, index, error in faults:
        size = np.sqrt(np.mean(gradients[k] ** 2))
        gradients[k].reshape(-1)[index] += x.dtype.type(error) * size
    return tuple(gradients)


def layer(faults=(), dtype: str = "float64") -> NumpyTarget:
    return NumpyTarget(f, lambda *given: backward(*given, faults), [X, W, B], dtype)


class Watched(NumpyTarget):
    """Remembers where it was evaluated."""

    def forward(self, xs, dtype):
        self.seen.append([np.array(x, dtype=np.float64).ravel() for x in xs])
        return super().forward(xs, dtype)


def looked_at(target: NumpyTarget, **settings):
    """The proofs, and the direction in which all inputs moved, but for its length."""
    watched = Watched(target.f, target.backward, [part.value for part in target.inputs])
    watched.seen = []
    session = Session(watched, GradCheckConfig(mode="directional", **settings))
    noise = measure(session)
    watched.seen.clear()
    found = prove(session, range(len(target.inputs)), noise)
    start = [part.value.ravel() for part in watched.inputs]
    moved = next(
        xs for xs in watched.seen if any(np.any(x != s) for x, s in zip(xs, start, strict=True))
    )
    return found, [x - s for x, s in zip(moved, start, strict=True)], session


def results(target: NumpyTarget, **settings) -> tuple[GradCheckResult, ...]:
    return checked(target, mode="directional", **settings).results


def proofs(target: NumpyTarget, **settings):
    session = Session(target, GradCheckConfig(mode="directional", **settings))
    return prove(session, range(len(target.inputs)), measure(session))


def test_one_direction_proves_all_inputs() -> None:
    found = results(layer())
    assert [result.verdict for result in found] == [Verdict.PASS] * 3
    assert [result.num_elements for result in found] == [1] * 3
    assert sum(result.num_forward for result in found) < 20
    assert all(0 < result.resolution < 1e-5 for result in found)
    assert all(0 < result.min_detectable_99 < 1e-4 for result in found)
    assert all(result.max_relative_error < 1e-6 for result in found)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_formula_of_a_narrow_dtype_is_proven_in_float64(dtype: str) -> None:
    found = results(layer(dtype=dtype))
    assert [r.num_elements for r in found if r.dtype == "float64"] == [1] * 3


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_wrong_input_is_found_and_the_others_are_proven(k: int) -> None:
    found = results(layer([(k, 5, 0.01)]))
    assert [r.verdict is Verdict.FAIL for r in found] == [j == k for j in range(3)]
    errors = found[k].element_errors
    assert errors is not None
    assert [error.index for error in errors] == [5]


@pytest.mark.parametrize("k", [0, 1, 2])
def test_an_error_of_the_size_that_is_promised_is_found(k: int) -> None:
    """In 99 % of cases: of 100 two may escape (the probability of three is 8 %, of eight 1e-5)."""
    missed = 0
    for seed in range(100):
        promised = results(layer(), seed=seed)[k].min_detectable_99
        index = seed % layer().inputs[k].value.size
        found = results(layer([(k, index, promised)]), seed=seed, explain=False)[k]
        missed += found.verdict is not Verdict.FAIL
    assert missed <= 7


@pytest.mark.parametrize("k", [0, 1, 2])
def test_an_error_that_a_proof_excludes_is_never_proven(k: int) -> None:
    for seed in range(50):
        proof = proofs(layer(), seed=seed)[k]
        index = seed % layer().inputs[k].value.size
        assert k not in proofs(layer([(k, index, 1.01 * proof.min_detectable_99)]), seed=seed)


def test_opposite_errors_do_not_cancel() -> None:
    pair = [(1, 3, 1e-3), (1, 4, -1e-3)]
    for seed in range(50):
        assert 1 not in proofs(layer(pair), seed=seed)


def beside(faults=(), dtype: str = "float64", **settings) -> tuple[GradCheckResult, ...]:
    """The layer with a larger weight: what is above `n_full` is looked at along directions."""
    return checked(layer(faults, dtype), n_full=100, **settings).results


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_small_input_beside_large_ones_is_proven_by_their_direction(dtype: str) -> None:
    found = beside(dtype=dtype)
    assert {result.verdict for result in found} == {Verdict.PASS}
    assert {result.mode for result in found} == {"directional"}
    assert sum(result.num_forward for result in found) < 20
    (bias,) = (one for one in found if one.name == found[-1].name and one.dtype == "float64")
    assert bias.min_detectable_99 < 1e-6


def test_a_small_input_is_looked_at_element_by_element_where_that_is_wanted() -> None:
    assert beside(mode="full")[2].mode == "full"
    found = beside(verbose=True)[2]
    assert (found.mode, found.num_elements) == ("full", B.size)
    assert found.element_errors is not None


def test_errors_of_a_small_input_are_found_beside_large_ones() -> None:
    for seed in range(30):
        index = seed % B.size
        found = beside([(2, index, 1e-4)], seed=seed)[2]
        assert (found.mode, found.verdict) == ("full", Verdict.FAIL)
        assert found.element_errors is not None
        assert [error.index for error in found.element_errors] == [index]
        pair = [(2, index, 1e-3), (2, (index + 1) % B.size, -1e-3)]
        assert beside(pair, seed=seed)[2].verdict is Verdict.FAIL


def test_what_hardly_moves_f_is_looked_at_without_the_others() -> None:
    """A direction of both would hide the second behind the tolerance of the first."""
    x, y = X[0], X[1]
    target = NumpyTarget(
        lambda a, b: np.tanh(a) + 1e-9 * np.sin(b),
        lambda a, b, v: (v * (1 - np.tanh(a) ** 2), 1e-9 * v * np.cos(b)),
        [x, y],
    )
    wrong = NumpyTarget(
        target.f, lambda a, b, v: (v * (1 - np.tanh(a) ** 2), 1.1e-9 * v * np.cos(b)), [x, y]
    )
    assert proofs(target)[0].resolution < 1e-5
    assert results(wrong)[0].verdict is Verdict.PASS
    assert results(wrong)[1].verdict is not Verdict.PASS


def test_a_gradient_of_zero_is_not_proven_by_others() -> None:
    zero = NumpyTarget(
        lambda a, b: np.tanh(a) + 0 * b,
        lambda a, b, v: (v * (1 - np.tanh(a) ** 2), 0 * b),
        [X[0], X[1]],
    )
    assert set(proofs(zero)) == {0}
    assert all(result.verdict is Verdict.PASS for result in results(zero))


def test_nothing_is_proven_where_it_cannot_be() -> None:
    relu = NumpyTarget(lambda x: np.maximum(x, 0), lambda x, v: v * (x > 0), [np.array([0.0, 1])])
    assert proofs(relu) == {}
    assert proofs(layer(), on_kink="fail") == {}
    assert proofs(layer(dtype="float32"), shadow="off") == {}
    session = Session(layer(), GradCheckConfig())
    noise = Noise(np.ones(180), [], False, "")
    assert prove(session, range(3), noise) == {}


def test_the_direction_is_listed_when_all_are() -> None:
    for result in results(layer(), verbose=True):
        assert result.element_errors is not None
        (shown,) = result.element_errors
        assert (shown.index, shown.verdict) == (0, Verdict.PASS)
        assert shown.analytical == pytest.approx(shown.numerical, rel=1e-5)


def test_a_proof_names_the_smallest_errors_that_would_have_been_seen() -> None:
    """Of a sum of all, where nothing is off but what is tolerated."""
    target = NumpyTarget(
        lambda a, b: a.sum() + b.sum(),
        lambda a, b, v: (v + 0 * a, v + 0 * b),
        [np.ones(400), np.ones(1)],
    )
    found = [proofs(target, seed=seed)[1] for seed in range(200)]
    steps = [proof.min_detectable_99 / proof.resolution / 2 for proof in found]
    assert 0.5 <= min(steps) < 0.53
    assert 1.47 < max(steps) < 1.5
    # five deviations of two sums that move f about equally, and three bars of a quarter of that
    tolerated = [proof.resolution / 5e-9 for proof in found]
    assert 2**0.5 <= min(tolerated) < 1.8 * 2**0.5
    assert max(tolerated) <= 1.76 * 5**0.5


def test_terms_of_one_sign_are_tolerated_a_billionth() -> None:
    target = NumpyTarget(lambda a: a.sum(), lambda a, v: v + 0 * a, [np.ones(1)])
    assert proofs(target)[0].resolution == pytest.approx(2e-9, rel=1e-3)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_inputs_beside_a_wrong_one_are_proven(k: int) -> None:
    assert set(proofs(layer([(k, 5, 0.01)]))) == {0, 1, 2} - {k}
    assert set(proofs(layer([(k, 5, 0.01), ((k + 1) % 3, 6, 0.01)]))) == {(k + 2) % 3}


def sum_of(n: int) -> NumpyTarget:
    return NumpyTarget(lambda a: a.sum(), lambda a, v: v + 0 * a, [np.full(n, 0.75)])


def test_a_direction_moves_all_elements_both_ways_and_about_as_far() -> None:
    _, (moves,), _ = looked_at(sum_of(2000))
    assert 0.45 < np.mean(moves > 0) < 0.55
    far = np.abs(moves) / np.abs(moves).max()
    assert far.min() == pytest.approx(1 / 3, rel=0.01)
    assert len(np.unique(moves)) > 1000


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0, 3e4])
def test_inputs_are_moved_in_proportion_to_their_size(scale: float) -> None:
    """By 1 where they are 0."""
    target = NumpyTarget(
        lambda a, b: a.sum() + b.sum(),
        lambda a, b, v: (v + 0 * a, v + 0 * b),
        [np.ones(50), np.full(50, scale)],
    )
    _, (first, second), _ = looked_at(target)
    ratio = np.abs(second).max() / np.abs(first).max()
    # and then what moves f little by up to 16 times more
    lengths = {0.0: 1.0, 1e-6: 16e-6, 1.0: 1.0, 3e4: 3e4 / 16}
    assert lengths[scale] / 2.2 < ratio < 2.2 * lengths[scale]


def test_what_is_tolerated_is_five_deviations_of_a_sum_of_errors() -> None:
    """Or, of few terms, all of them; the resolution of a small slope is that of a hundredth."""
    shares = []
    for n in (9, 400):
        for seed in range(40):
            proofs, (moves,), session = looked_at(sum_of(n), seed=seed)
            proof = proofs[0]
            norm, absolute = np.sqrt(moves @ moves), np.abs(moves).sum()
            slope = abs(moves.sum())
            unit = abs(proof.analytical) / slope
            tolerance = 1e-9 * min(5 * norm, absolute) * unit
            assert proof.error <= 0.25 * tolerance
            visible = session.rules.bars * proof.error + tolerance
            visible += abs(proof.numerical - proof.analytical)
            visible = max(visible, 2e-9 * absolute * unit)
            expected = visible / (max(slope, 0.01 * absolute) * unit)
            assert proof.resolution == pytest.approx(expected, rel=1e-6)
            shares.append(slope / absolute)
    assert min(shares) < 0.009


def test_an_error_of_one_element_must_be_seen_from_a_ten_thousandth_of_the_gradient() -> None:
    """Else the input is looked at alone, where less is seen."""

    def beside(size: float) -> NumpyTarget:
        return NumpyTarget(
            lambda a, b: a.sum() + size * b.sum(),
            lambda a, b, v: (v + 0 * a, size * v + 0 * b),
            [np.ones(50), np.ones(50)],
        )

    found = [
        proofs(beside(size), resolution=0.01)[1].min_detectable_99
        for size in np.geomspace(1e-5, 1e-3, 60)
    ]
    assert 0.7e-4 < max(found) <= 1e-4


def test_steps_of_a_line_have_no_remainder() -> None:
    found = results(sum_of(9), levels=True)[0].levels
    assert found
    assert all(level.remainder < 1e-14 for level in found)
    square = NumpyTarget(lambda a: (a * a).sum(), lambda a, v: 2 * v * a, [np.full(9, 0.75)])
    assert not proofs(square)[0].levels  # one run to either side proves it
    for level in results(square, levels=True)[0].levels:
        assert level.remainder > 0.1 * level.step**2 * 9 * 0.25


def test_error_bars_are_at_most_a_quarter_of_what_is_tolerated() -> None:
    for seed in range(10):
        found, moves, session = looked_at(layer(), seed=seed)
        terms = [a * m for a, m in zip(session.gradients(0, "float64"), moves, strict=True)]
        every = np.concatenate(terms)
        tolerance = 1e-9 * min(np.abs(every).sum(), 5 * np.sqrt(every @ every))
        unit = found[0].analytical / terms[0].sum()
        for proof in found.values():
            assert 0 < proof.error <= 0.25 * tolerance * abs(unit) * (1 + 1e-6)
