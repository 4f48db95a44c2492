"""How an input is looked at, and its numerical derivatives."""

import numpy as np
import pytest
from numerical import differentiate
from targets import FUNCTIONS, NumpyTarget, checked

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.modes import choose
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.random_numbers import few_bits, stream

X = np.random.default_rng(17).standard_normal((50, 4))


def session_of(name: str = "tanh", rows: int = 0, x=X, dtype="float64", **settings) -> Session:
    f, vjp, _ = FUNCTIONS[name]
    return Session(NumpyTarget(f, vjp, [x], dtype, rows=rows), GradCheckConfig(**settings))


@pytest.mark.parametrize(
    ("settings", "rows", "mode"),
    [
        ({}, 0, "full"),
        ({}, 50, "full"),
        ({"n_full": 200}, 50, "full"),
        ({"n_full": 199}, 50, "coloured"),
        ({"n_full": 4}, 50, "coloured"),
        ({"n_full": 3}, 50, "directional"),
        ({"n_full": 199}, 0, "directional"),
        ({"n_full": 199}, 1, "directional"),
        ({"n_full": 199, "subset": 199}, 50, "full"),
        ({"n_full": 10, "subset": 11}, 50, "directional"),
        ({"n_full": 10, "subset": 200}, 50, "coloured"),
        ({"n_full": 10, "subset": 999}, 50, "coloured"),
        ({"mode": "coloured"}, 50, "coloured"),
        ({"mode": "coloured"}, 2, "coloured"),
        ({"mode": "coloured"}, 1, "full"),
        ({"mode": "coloured", "subset": 7}, 50, "full"),
        ({"mode": "coloured", "n_full": 3}, 50, "coloured"),
        ({"mode": "full", "n_full": 3}, 50, "full"),
        ({"mode": "directional"}, 50, "directional"),
    ],
)
def test_the_mode_follows_from_size_rows_and_configuration(settings, rows: int, mode: str) -> None:
    assert choose(session_of(rows=rows, **settings), 0) == mode


@pytest.mark.parametrize("mode", ["full", "coloured"])
def test_derivatives_are_those_of_every_element_and_cotangent(mode) -> None:
    session = session_of(rows=200, cotangents=3)
    found = differentiate(session, 0, mode, None)
    assert found is not None
    exact = np.array([session.weights(i) for i in range(3)]) * (1 - np.tanh(X.ravel()) ** 2)
    np.testing.assert_allclose(found.reference.value, exact, atol=1e-9)
    assert (np.abs(found.reference.value - exact) <= 3 * found.reference.error + 1e-12).all()
    assert found.elements.tolist() == list(range(200))
    assert found.failure is None


@pytest.mark.parametrize("mode", ["full", "coloured"])
def test_evaluations_are_counted(mode) -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return np.tanh(x)

    target = NumpyTarget(f, FUNCTIONS["tanh"][1], [X], rows=50)
    session = Session(target, GradCheckConfig(budget_s=1e9))
    _ = session.noise_floor(None)
    before = count[0]
    found = differentiate(session, 0, mode, None)
    assert found is not None
    assert found.evaluations == count[0] - before
    assert 0 < found.evaluations < (10000 if mode == "full" else 500)


def test_a_subset_is_drawn_without_repetition() -> None:
    found = differentiate(session_of(subset=60), 0, "full", None)
    again = differentiate(session_of(subset=60), 0, "full", None)
    other = differentiate(session_of(subset=60, seed=1), 0, "full", None)
    assert found is not None
    assert again is not None
    assert other is not None
    elements = found.elements.tolist()
    assert elements == sorted(set(elements)) == again.elements.tolist()
    assert elements != other.elements.tolist()
    assert len(elements) == 60
    assert found.reference.value.shape == (2, 60)
    whole = differentiate(session_of(), 0, "full", None)
    assert whole is not None
    np.testing.assert_array_equal(found.reference.value, whole.reference.value[:, elements])


@pytest.mark.parametrize("subset", [None, 50, 200, 1000])
def test_a_limit_of_time_changes_nothing_but_the_order(subset) -> None:
    limited = differentiate(session_of(subset=subset, budget_s=1e9), 0, "full", None)
    free = differentiate(session_of(subset=subset), 0, "full", None)
    assert limited is not None
    assert free is not None
    np.testing.assert_array_equal(limited.elements, free.elements)
    for a, b in zip(limited.reference.numbers, free.reference.numbers, strict=True):
        np.testing.assert_array_equal(a, b)
    looks = -(-len(free.elements) // 32)  # at the clock, with a run at the point itself for each
    assert limited.evaluations == free.evaluations + looks - 1


def test_the_first_failure_of_f_is_kept() -> None:
    def f(x):
        for i in (40, 90):
            if x.ravel()[i] != X.ravel()[i]:
                raise ValueError(f"moved {i}")
        return np.tanh(x)

    session = Session(NumpyTarget(f, FUNCTIONS["tanh"][1], [X]), GradCheckConfig(budget_s=1e9))
    found = differentiate(session, 0, "full", None)
    assert found is not None
    assert "moved 40" in (found.failure or "")


def test_an_input_without_elements_has_no_derivatives() -> None:
    found = differentiate(session_of(x=X[:0]), 0, "full", None)
    assert found is not None
    assert found.reference.value.shape == (1, 0)


@pytest.mark.parametrize("name", ["tanh", "relu", "softmax", "cumsum", "abs", "max_ties"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_independent_rows_are_believed(name: str, dtype: str) -> None:
    for seed in range(5):
        x = np.random.default_rng([18, seed]).standard_normal((50, 4))
        session = session_of(name, rows=50, x=x, dtype=dtype, seed=seed)
        assert differentiate(session, 0, "coloured", None) is not None, seed


def test_a_weak_dependence_between_rows_is_noticed() -> None:
    def target(weak: float) -> NumpyTarget:
        def f(x):
            return np.tanh(x) + weak * x[::-1]

        return NumpyTarget(f, lambda x, v: v, [X], rows=50)

    for weak in (1.0, 1e-2, 1e-5):
        session = Session(target(weak), GradCheckConfig())
        assert differentiate(session, 0, "coloured", None) is None, weak
    session = Session(target(1e-12), GradCheckConfig())
    assert differentiate(session, 0, "coloured", None) is not None


@pytest.mark.parametrize(("part", "noticed"), [(0.7, False), (1.4, True)])
def test_what_the_promise_may_be_off_by_is_a_hundredth_of_the_resolution(part, noticed) -> None:
    def session(weak: float) -> Session:
        target = NumpyTarget(lambda x: 2 * x + weak * x[::-1], lambda x, v: v, [X], rows=50)
        return Session(target, GradCheckConfig(cotangents=1, resolution=1e-3))

    d = few_bits(stream(0, "x0", "direction 0").standard_normal(X.size))
    v = session(0.0).weights(0)
    limit = 1e-3 * 0.01 * np.abs(2 * v * d).max()
    # all rows move at once, so that each is thought to have done what its counterpart did
    missing = abs(float(v @ d.reshape(X.shape)[::-1].ravel() - v @ d))
    found = differentiate(session(part * limit / missing), 0, "coloured", None)
    assert (found is None) == noticed


def test_rows_with_edges_of_the_domain_are_believed() -> None:
    def f(x):
        with np.errstate(invalid="ignore"):
            return np.sqrt(x)

    x = np.abs(X)
    x[3, 2] = 0.0
    session = Session(NumpyTarget(f, lambda x, v: v, [x], rows=200), GradCheckConfig())
    found = differentiate(session, 0, "coloured", None)
    assert found is None or np.isinf(found.reference.error[:, 14]).all()


def test_a_subset_that_is_all_is_all() -> None:
    for subset in (200, 201, None):
        found = differentiate(session_of(subset=subset), 0, "full", None)
        assert found is not None
        assert found.elements.tolist() == list(range(200))


def test_the_direction_that_proves_the_rows_gives_the_levels_too() -> None:
    f, vjp, _ = FUNCTIONS["tanh"]
    found, alone = (
        checked(NumpyTarget(f, vjp, [X], rows=200), mode=mode, levels=True, seed=3).results[0]
        for mode in ("coloured", "full")
    )
    assert len(found.levels) == len(alone.levels) > 9
    for ours, theirs in zip(found.levels, alone.levels, strict=True):
        assert (ours.step, ours.difference) == (theirs.step, theirs.difference)
