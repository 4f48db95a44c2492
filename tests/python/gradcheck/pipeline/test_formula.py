"""The gradient's formula against numerical derivatives, by one input."""

import numpy as np
import pytest
from targets import FUNCTIONS, NumpyTarget, target_of

from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.noise import Noise, measure
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.formula import Formula, check_formula
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(20).standard_normal((3, 4))


def formula_of(target: NumpyTarget, k: int = 0, noise: Noise | None = None, **settings):
    session = Session(target, GradCheckConfig(**{"explain": False, "audits": False, **settings}))
    return session, check_formula(session, k, noise or measure(session))


def scaled(factor: float, f=np.tanh, **options) -> NumpyTarget:
    def vjp(x, v):
        return x.dtype.type(factor) * v * (1 - np.tanh(x) ** 2)

    return NumpyTarget(f, vjp, [X], **options)


def test_what_it_rests_on_is_kept() -> None:
    session, found = formula_of(scaled(1.0))
    assert isinstance(found, Formula)
    assert found.result.verdict is Verdict.PASS
    assert found.native is not None
    assert found.native.heights is None
    assert found.elements is not None
    assert found.elements.tolist() == list(range(12))
    np.testing.assert_array_equal(
        found.native.judgement.analytical, session.analytical(0, "float64")
    )
    _, found = formula_of(scaled(1.0), mode="directional")
    assert found.native is found.elements is None
    assert found.result.mode == "directional"


@pytest.mark.parametrize("mode", ["full", "directional"])
def test_every_cotangent_must_give_something_finite(mode) -> None:
    for bad in range(3):
        calls: list[bytes] = []

        def vjp(x, v, bad=bad, calls=calls):
            if v.tobytes() not in calls:
                calls.append(v.tobytes())
            return v * (np.inf if calls.index(v.tobytes()) == bad else 1.0)

        _, found = formula_of(NumpyTarget(lambda x: x, vjp, [X]), mode=mode, cotangents=3, probes=3)
        assert found.result.reasons == (Reason.NON_FINITE,), bad


def test_a_form_that_is_wrong_for_the_second_cotangent_only_is_told() -> None:
    calls: list[bytes] = []

    def vjp(x, v):
        if v.tobytes() not in calls:
            calls.append(v.tobytes())
        return v[: 3 if calls.index(v.tobytes()) == 0 else 2]

    _, found = formula_of(NumpyTarget(lambda x: x, vjp, [X]))
    assert found.result.reasons == (Reason.WRONG_SHAPE,)


def test_rows_that_depend_are_looked_at_otherwise() -> None:
    f, vjp, _ = FUNCTIONS["cumsum"]
    target = NumpyTarget(lambda x: f(x.T).T, lambda x, v: vjp(x.T, v.T).T, [X], rows=3)
    for n_full, mode in ((12, "full"), (11, "directional")):
        session, found = formula_of(target, mode="coloured", n_full=n_full)
        assert (found.result.mode, found.result.verdict) == (mode, Verdict.PASS)
        assert session.note == "the promise that rows do not depend on each other is not kept"


def test_noise_of_the_gradient_is_no_error() -> None:
    target = scaled(1 + 1e-6)
    assert formula_of(target)[1].result.verdict is Verdict.FAIL
    for part, verdict in ((0.2e-6, Verdict.FAIL), (0.3e-6, Verdict.PASS)):
        session = Session(target, GradCheckConfig())
        spread = part * np.max(np.abs(session.analytical(0, "float64")), axis=0)
        noise = Noise(None, [spread], False, "")
        assert formula_of(target, noise=noise, resolution=1e-3)[1].result.verdict is verdict


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_constant_before_a_normalization_has_the_gradient_zero(dtype: str) -> None:
    # rounding forbids to see the 0 exactly; the right gradient is rounding, too
    def f(x, b):
        y = x + b
        d = y - y.mean(0)
        return d / np.sqrt((d * d).mean(0))

    def vjp(x, b, v):
        y = x + b
        d = y - y.mean(0)
        s = np.sqrt((d * d).mean(0))
        a = (v - v.mean(0) - d / s * (v * d / s).mean(0)) / s
        return a, a.sum(0)

    target = NumpyTarget(f, vjp, [np.tile(X, (3, 1)) + np.arange(9)[:, None] / 9, X[0]], dtype)
    _, found = formula_of(target, k=1)
    assert found.result.verdict is Verdict.PASS
    assert found.native is not None
    assert found.native.heights is not None
    limit = found.native.judgement.limit
    worst = float(np.max(limit / found.native.heights[:, None]))
    assert found.result.resolution == found.result.min_detectable_99 == worst
    assert (found.result.num_passed, found.result.reasons) == (4, ())
    assert found.result.detail == f"0, as far as f tells: at most {np.max(limit):.2g}"
    right = target.backward
    target.backward = lambda x, b, v: (right(x, b, v)[0], right(x, b, v)[1] + b.dtype.type(0.01))
    _, found = formula_of(target, k=1)
    assert found.result.verdict is Verdict.FAIL


def test_the_second_opinion_settles_noise() -> None:
    target = NumpyTarget(
        lambda x: np.sin(x) + x.dtype.type(3), lambda x, v: v * np.cos(x), [X], "float32"
    )
    _, found = formula_of(target, shadow="off", resolution=1e-3, levels=True)
    assert found.result.verdict is not Verdict.FAIL
    assert len(found.result.levels) >= 9


def test_levels_are_those_of_the_first_direction() -> None:
    session, found = formula_of(scaled(1.0))
    d, v = session.direction(0, 0), session.weights(0)

    def phi(h: float) -> float:
        return float(v @ np.tanh(X.ravel() + h * d))

    for level in found.result.levels:
        slope = (phi(level.step) - phi(-level.step)) / 2 / level.step
        assert level.difference == pytest.approx(slope, rel=1e-8)


def test_without_time_nothing_is_said() -> None:
    _, found = formula_of(scaled(2.0), budget_s=1e-9)
    assert found.result.reasons == (Reason.BUDGET,)
    assert found.result.levels == ()


def test_a_fail_is_explained_where_all_elements_were_looked_at() -> None:
    _, found = formula_of(scaled(2.0), explain=True)
    assert found.result.hypotheses[0].text.startswith("A = 2 * G")
    assert formula_of(scaled(1.0), explain=True)[1].result.hypotheses == ()
    assert formula_of(scaled(2.0), explain=True, subset=5)[1].result.hypotheses == ()
    assert formula_of(scaled(2.0))[1].result.hypotheses == ()


def test_the_cotangent_with_most_wrong_elements_is_explained() -> None:
    calls: list[np.ndarray] = []

    def vjp(x, v):
        a = v * (1 - np.tanh(x) ** 2)
        known = [i for i, w in enumerate(calls) if np.allclose(w, v, rtol=1e-6, atol=0)]
        if not known:
            calls.append(v)
        if known == [1] or (not known and len(calls) == 2):
            return -a
        a[0, 0] *= 1.7
        return a

    _, found = formula_of(NumpyTarget(np.tanh, vjp, [X]), explain=True)
    assert found.result.hypotheses[0].text.startswith("A = -G:")


@pytest.mark.parametrize("name", ["softmax", "unit", "layer_norm"])
def test_a_formula_alone_is_as_precise_as_its_dtype(name: str) -> None:
    _, found = formula_of(target_of(name, "float32"), shadow="off")
    assert found.result.verdict is not Verdict.FAIL
    assert found.result.dtype == "float32"


@pytest.mark.parametrize(("part", "verdict"), [(15 * 2.0**-53, Verdict.PASS), (2e-8, Verdict.FAIL)])
def test_a_gradient_that_should_be_zero_may_be_rounding_of_the_height_of_f(part, verdict) -> None:
    def f(x):
        return np.full(5, 3.0, x.dtype)

    session = Session(NumpyTarget(f, lambda x, v: 0 * x, [X]), GradCheckConfig(cotangents=1))
    height = 3 * np.abs(session.weights(0)).sum() / np.sqrt(np.mean(X * X))
    target = NumpyTarget(f, lambda x, v: 0 * x + part * height, [X])
    _, found = formula_of(target, cotangents=1)
    assert found.result.verdict is verdict
    assert found.native is not None
    judgement = found.native.judgement
    assert judgement.wrong.all() == judgement.wrong.any() == (verdict is Verdict.FAIL)
    if verdict is Verdict.FAIL:
        np.testing.assert_allclose(judgement.limit, 16 * 2.0**-53 * height, rtol=1e-12)


def test_a_step_that_vanishes_beside_f_is_not_judged() -> None:
    _, found = formula_of(NumpyTarget(lambda x: x + 1e20, lambda x, v: v, [X]))
    assert found.result.verdict is Verdict.INCONCLUSIVE
    assert found.result.reasons == (Reason.ABSORPTION,)
    _, found = formula_of(NumpyTarget(lambda x: x + 1e20, lambda x, v: 0 * v, [X]))
    assert found.result.verdict is Verdict.INCONCLUSIVE
    assert found.result.reasons == (Reason.ABSORPTION,)
    _, found = formula_of(NumpyTarget(lambda x: 0 * x + 1e20, lambda x, v: 0 * v, [X]))
    assert found.result.verdict is Verdict.PASS


def test_a_gradient_without_a_form_is_refused_before_it_is_looked_at() -> None:
    moved: list[bool] = []

    def f(x):
        moved.append(bool((x != X).any()))
        return np.tanh(x)

    for mode in ("full", "directional"):
        target = NumpyTarget(f, lambda x, v: v[:2], [X])
        session = Session(target, GradCheckConfig(mode=mode))
        noise = measure(session)
        moved.clear()
        found = check_formula(session, 0, noise)
        assert found.result.reasons == (Reason.WRONG_SHAPE,)
        assert found.native is found.elements is None
        assert moved == []
