"""How an input is looked at, and its numerical derivatives."""

from types import SimpleNamespace

import numpy as np
import pytest
from targets import FUNCTIONS, NumpyTarget

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.judge import LATE
from fluidcore.gradcheck.measure.modes import choose, differentiate
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
    assert found.mode == mode
    assert found.failure is None


@pytest.mark.parametrize("mode", ["full", "coloured"])
def test_evaluations_are_counted(mode) -> None:
    count = [0]

    def f(x):
        count[0] += 1
        return np.tanh(x)

    target = NumpyTarget(f, FUNCTIONS["tanh"][1], [X], rows=50)
    session = Session(target, GradCheckConfig(budget_s=1e9))
    before, counted = count[0], session.calls.forwards
    found = differentiate(session, 0, mode, None)
    assert found is not None
    assert found.evaluations == session.calls.forwards - counted == count[0] - before
    assert 0 < count[0] - before < (10000 if mode == "full" else 500)


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


def test_what_there_is_no_time_for_stays_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("fluidcore.gradcheck.measure.session.time", clock)

    def f(x):
        now[0] += 1
        return np.tanh(x)

    target = NumpyTarget(f, FUNCTIONS["tanh"][1], [X])
    session = Session(target, GradCheckConfig(budget_s=700.0))
    found = differentiate(session, 0, "full", None)
    assert found is not None
    late = found.reference.flags == LATE
    known = int(np.argmax(late))
    assert known in (32, 64, 96)
    assert late[known:].all()
    assert np.isinf(found.reference.error[:, known:]).all()
    assert (found.reference.value[:, known:] == 0).all()
    assert np.isfinite(found.reference.error[:, :known]).all()
    assert found.reference.value.shape == (2, 200)


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


def believed(
    monkeypatch, missing, error=(0.0, 0.0), dense_error=0.0, scale=0.0, **settings
) -> bool:
    """Whether rows are believed, of which the sum is 0 where the dense direction sees `missing`.

    Args:
        monkeypatch: Takes the place of the engine.
        missing: For each of two cotangents.
        error: Of the elements of all rows.
        dense_error: Of the dense direction.
        scale: Of the first element.
        **settings: Of the check.
    """

    def derivatives(value, error, scale) -> SimpleNamespace:
        value = np.asarray(value, float)
        flags = np.zeros(value.shape[1], np.uint8)
        return SimpleNamespace(
            **{"value": value, "low": value, "high": value, "scale": scale, "error": error},
            **{"flags": flags, "evaluations": 1, "failure": None},
        )

    scales = np.zeros((2, 2))
    scales[:, 0] = scale
    by_row = derivatives(np.zeros((2, 2)), np.broadcast_to(error, (2, 2)), scales)
    missing = np.reshape(missing, (2, 1))
    dense = derivatives(missing, np.full((2, 1), dense_error), 0 * missing)
    session = session_of("tanh", rows=2, x=X[:2, :1], **settings)
    engine = SimpleNamespace(
        differentiate=lambda *_, **__: by_row,
        differentiate_along=lambda *_, **__: dense,
        Rules=core.Rules,
    )
    for module in ("modes", "session"):
        monkeypatch.setattr(f"fluidcore.gradcheck.measure.{module}.core", engine)
    return differentiate(session, 0, "coloured", None) is not None


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("row", [0, 1])
def test_one_cotangent_that_misses_something_is_enough(monkeypatch, row: int, sign: float) -> None:
    missing = np.zeros(2)
    assert believed(monkeypatch, missing)
    missing[row] = sign * 1e-12
    assert not believed(monkeypatch, missing)


def test_three_error_bars_may_be_missing_those_of_the_elements_by_their_squares(
    monkeypatch,
) -> None:
    d = few_bits(stream(0, "x0", "direction 0").standard_normal(2))
    error = np.array([0.3, 0.5])
    limit = 3 * (0.25 + np.sqrt(np.sum((error * d) ** 2)))
    assert believed(monkeypatch, [0.999 * limit] * 2, error, 0.25)
    assert not believed(monkeypatch, [1.001 * limit] * 2, error, 0.25)
    limit = 3 * (0.25 + 0.3 * abs(d[0]))  # what is not known at all is not missing
    assert believed(monkeypatch, [0.999 * limit] * 2, [0.3, np.inf], 0.25)
    assert not believed(monkeypatch, [1.001 * limit] * 2, [0.3, np.inf], 0.25)


def test_a_hundredth_of_the_resolution_of_the_largest_term_may_be_missing(monkeypatch) -> None:
    d = few_bits(stream(0, "x0", "direction 0").standard_normal(2))
    limit = 0.1 * 0.01 * 8.0 * abs(d[0])
    assert believed(monkeypatch, [0.999 * limit] * 2, scale=8.0, resolution=0.1)
    assert not believed(monkeypatch, [1.001 * limit] * 2, scale=8.0, resolution=0.1)


def test_a_subset_that_is_all_is_all() -> None:
    for subset in (200, 201, None):
        found = differentiate(session_of(subset=subset), 0, "full", None)
        assert found is not None
        assert found.elements.tolist() == list(range(200))


def test_the_direction_that_proves_the_rows_gives_the_levels_too(monkeypatch) -> None:
    session = session_of("tanh", rows=200)
    assert differentiate(session, 0, "coloured", None) is not None
    before = session.calls.forwards
    first = session.traced(0, 0, None)
    assert session.calls.forwards == before
    assert first.value.shape == (2, 1)
    alone = session_of("tanh", rows=200).traced(0, 0, None)
    assert first.levels == alone.levels
    assert first.value[0] == alone.value[0]
