"""The verdict on the dtype under test, by one input."""

import numpy as np
import pytest
from judged import Reference
from targets import NumpyTarget, checked, target_of

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.noise import measure
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.formula import check_formula
from fluidcore.gradcheck.pipeline.kernel import KernelTests, check_kernel
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(19).uniform(0.5, 2.0, (9, 4))


def kernel_of(target: NumpyTarget, **settings) -> GradCheckResult:
    return checked(target, audits=False, **settings).results[-1]


def exact(claimed: np.ndarray, scale: np.ndarray) -> core.Derivatives:
    return Reference.exact(claimed, scale).native


def judged(
    session: Session, test: core.KernelTest, claimed: np.ndarray, reference: core.Derivatives
) -> core.Judgement:
    elements = np.arange(claimed.shape[1])
    kernel = session.analytical(0, session.target.dtype, len(claimed))
    return test.judge(0, elements, claimed, kernel, reference, session.kernel_rules)


def off_by(error, dtype: str = "float32", **options) -> NumpyTarget:
    """2x, with a kernel that adds something to a right gradient."""

    def vjp(x, v):
        a = 2 * v
        return a if x.dtype == np.float64 else (a.astype(float) + error(v)).astype(x.dtype)

    return NumpyTarget(lambda x: 2 * x, vjp, [X], dtype, fixed_cotangent=True, **options)


@pytest.mark.parametrize("mode", ["full", "directional"])
def test_what_would_be_found_follows_from_spread_and_scale(mode) -> None:
    session = Session(target_of("tanh", "float32"), GradCheckConfig(mode=mode))
    formula = check_formula(session, 0, measure(session))
    tests = KernelTests(session)
    found = check_kernel(session, 0, tests, formula)
    test = tests.of(1 if mode == "directional" else session.num_cotangents)
    claimed = session.analytical(0, "float64", 1 if mode == "directional" else None)
    if mode == "full":
        assert formula.native is not None
        reference = formula.native.reference
    else:  # the gradient of tanh has one term for each element
        size = np.sqrt(np.mean(claimed**2, axis=1, keepdims=True))
        reference = exact(claimed, 2 * np.maximum(np.abs(claimed), size))
    judgement = judged(session, test, claimed, reference)
    assert found.mode == mode
    assert found.resolution == pytest.approx(float(np.max(judgement.resolution)), rel=1e-6)
    least = (judgement.limit + 2.33 / 3 * judgement.spread) / reference.measure()
    assert found.min_detectable_99 == pytest.approx(float(np.max(least)), rel=1e-6)


def test_the_terms_of_a_large_gradient_are_measured_with_random_signs() -> None:
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    random = np.random.default_rng(0)
    w = random.standard_normal((4, 4))

    def vjp(x, v):
        a = (v @ w.T.astype(x.dtype)).astype(x.dtype)
        if x.dtype == np.float64:
            seen.append((v.copy(), a))
            return a
        return a + (2.0**-20 * random.standard_normal(a.shape)).astype(np.float32)

    target = NumpyTarget(lambda x: x @ w.astype(x.dtype), vjp, [X], "float32")
    session = Session(target, GradCheckConfig(mode="directional", verbose=True))
    formula = check_formula(session, 0, measure(session))
    tests = KernelTests(session)
    test = tests.of(1)
    seen.clear()
    found = check_kernel(session, 0, tests, formula)
    cotangents = [session.weights(0).reshape(9, 4)]
    sizes = []
    for v, claimed in zip(cotangents, session.analytical(0, "float64", 1), strict=True):
        signed = [
            (u, a.ravel()) for u, a in seen if (np.abs(u) == np.abs(v)).all() and (u != v).any()
        ]
        assert len({u.tobytes() for u, _ in signed}) == 4
        size = np.sqrt(np.mean([claimed**2, *(a**2 for _, a in signed)], axis=0))
        sizes.append(2 * np.maximum(size, np.sqrt(np.mean(size**2))))
    claimed = session.analytical(0, "float64", 1)
    reference = exact(claimed, np.array(sizes))
    judgement = judged(session, test, claimed, reference)
    assert found.resolution == pytest.approx(float(np.max(judgement.resolution)), rel=1e-9)


def test_a_fault_of_the_form_is_told() -> None:
    target = target_of("tanh", "float32")
    right = target.backward
    target.backward = lambda x, v: right(x, v)[: 3 if x.dtype == np.float64 else 1]
    found = kernel_of(target)
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.WRONG_SHAPE,))
    assert found.dtype == "float32"


def test_an_input_without_elements_passes() -> None:
    for found in checked(NumpyTarget(np.tanh, lambda x, v: v, [X[:0]], "float32")).results:
        assert (found.verdict, found.reasons) == (Verdict.PASS, ())
        assert found.detail == "there are no elements"


def test_a_float64_gradient_that_is_not_finite_is_nothing_to_compare_with() -> None:
    def vjp(x, v):
        return np.full_like(x, np.nan) if x.dtype == np.float64 else 2 * v

    formula, kernel = checked(NumpyTarget(lambda x: 2 * x, vjp, [X], "float32")).results
    assert formula.reasons == (Reason.NON_FINITE,)
    assert (kernel.verdict, kernel.reasons) == (Verdict.INCONCLUSIVE, (Reason.DOMAIN,))
    assert "nothing to compare with" in kernel.detail


def test_an_f_that_overflows_in_its_dtype_is_not_judged() -> None:
    def f(x):
        return x * x.dtype.type(60000) * x.dtype.type(60000)

    def vjp(x, v):
        return v * (x.dtype.type(np.inf) if x.dtype == np.float16 else 3.6e9)

    found = kernel_of(NumpyTarget(f, vjp, [X], "float16"))
    assert (found.verdict, found.reasons) == (Verdict.INCONCLUSIVE, (Reason.DOMAIN,))
    assert found.detail == "f is not finite at the point, in float16"


def overflowing(*values: float, first: float = 65000.0) -> NumpyTarget:
    """The first is a number of float16, then 130000: the kernel returns `values` for them."""
    weights = np.array([first, 130000.0, -130000.0, 1.0])

    def f(x):
        return (x * (weights * 2.0**-10).astype(x.dtype)) * x.dtype.type(2.0**10)

    def vjp(x, v):
        return weights if x.dtype == np.float64 else np.array(values, np.float16)

    return NumpyTarget(f, vjp, [np.full(4, 0.25)], "float16", fixed_cotangent=True)


def test_an_infinity_of_a_number_that_is_too_large_is_an_overflow() -> None:
    found = kernel_of(overflowing(65000.0, np.inf, -np.inf, 1.0))
    assert (found.verdict, found.reasons) == (Verdict.INCONCLUSIVE, (Reason.DOMAIN,))
    assert found.detail == "overflow: the gradient, 130000, is larger than any float16"


@pytest.mark.parametrize(
    ("first", "verdict"), [(65470.0, Verdict.FAIL), (65480.0, Verdict.INCONCLUSIVE)]
)
def test_what_rounding_may_make_too_large_is_an_overflow_too(first: float, verdict) -> None:
    found = kernel_of(overflowing(np.inf, np.inf, -np.inf, 1.0, first=first))
    assert found.verdict is verdict


def test_the_runs_of_f_that_a_kernel_takes_are_counted() -> None:
    session = Session(off_by(lambda v: 1e-3 * v), GradCheckConfig())  # are they lost digits?
    formula = check_formula(session, 0, measure(session))
    tests = KernelTests(session)
    test = tests.of(session.num_cotangents)
    forwards, runs = session.calls.forwards, test.evaluations
    check_kernel(session, 0, tests, formula)
    assert session.calls.forwards - forwards == test.evaluations - runs > 0


@pytest.mark.parametrize(
    ("values", "index"),
    [
        ((np.inf, np.inf, -np.inf, 1.0), 0),
        ((65000.0, -np.inf, -np.inf, 1.0), 1),
        ((65000.0, np.nan, -np.inf, 1.0), 1),
        ((65000.0, np.inf, np.inf, 1.0), 2),
        ((65000.0, np.inf, -np.inf, np.nan), 3),
    ],
)
def test_any_other_is_the_fault_of_the_kernel(values, index: int) -> None:
    found = kernel_of(overflowing(*values))
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.NON_FINITE,))
    assert [error.index for error in found.element_errors or ()] == [index]


def test_the_cotangent_with_the_fault_is_shown() -> None:
    seen = []

    def vjp(x, v):
        a = 2 * v
        if x.dtype == np.float32:
            seen.append(v.tobytes())
            if len(set(seen)) == 2:
                a[1, 1] = np.nan
        return a

    found = kernel_of(NumpyTarget(lambda x: 2 * x, vjp, [X], "float32"))
    assert found.reasons == (Reason.NON_FINITE,)
    assert [error.index for error in found.element_errors or ()] == [5]


@pytest.mark.parametrize(
    ("units", "reason"), [(3, None), (7, Reason.PRECISION_LOSS), (80, Reason.PRECISION_LOSS)]
)
def test_less_than_a_long_sum_loses_is_a_warning(units: float, reason: Reason | None) -> None:
    # 36 terms may lose 16 * 6 units, beside the 4 that are always right
    error = 2 * units * UNIT["float32"]
    found = kernel_of(off_by(lambda v: np.where(np.arange(36).reshape(9, 4) < 5, error, 0)))
    assert found.verdict is Verdict.PASS
    assert found.reasons == (() if reason is None else (reason,))
    if reason:
        assert found.detail == "5 elements are less precise than float32 allows"


@pytest.mark.parametrize("units", [110, 200])
def test_more_than_that_fails(units: float) -> None:
    error = 2 * units * UNIT["float32"]
    found = kernel_of(off_by(lambda v: np.where(np.arange(36).reshape(9, 4) < 5, error, 0)))
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.KERNEL,))
    assert len(found.element_errors or ()) == 5


def test_beside_an_element_that_is_wrong_none_is_only_imprecise() -> None:
    def error(v):
        a = np.zeros((9, 4))
        a[0], a[1, 0] = 40 * UNIT["float32"], 0.1
        return a

    found = kernel_of(off_by(error))
    assert found.verdict is Verdict.FAIL
    indices = [one.index for one in found.element_errors or ()]
    assert indices[0] == 4
    assert sorted(indices) == [0, 1, 2, 3, 4]


def test_a_fault_of_many_units_of_16_bits_fails() -> None:
    for units, verdict in ((3.5, Verdict.PASS), (100, Verdict.FAIL)):
        error = 2 * units * UNIT["float16"]
        assert kernel_of(off_by(lambda v, e=error: e, "float16")).verdict is verdict, units


def at_kinks(f, slope: float, kernel: float) -> NumpyTarget:
    """Three elements at 0, where formula and kernel claim a slope each, and one that is right."""

    def vjp(x, v):
        h = 1e-7
        right = (f(x.astype(float) + h) - f(x.astype(float) - h)) / 2 / h
        claimed = np.where(x == 0, slope if x.dtype == np.float64 else kernel, right)
        return v * claimed.astype(x.dtype)

    return NumpyTarget(f, vjp, [np.array([0.0, 0.0, 0.0, 1.0])], "float32", fixed_cotangent=True)


@pytest.mark.parametrize(("kernel", "verdict"), [(0.5, Verdict.PASS), (1.5, Verdict.FAIL)])
def test_at_a_kink_the_kernel_may_be_what_the_formula_may_be(kernel, verdict: Verdict) -> None:
    found = kernel_of(at_kinks(np.abs, 0.5, kernel))
    assert found.verdict is verdict
    assert found.kinks == 3


@pytest.mark.parametrize(("slope", "kernel"), [(0.5, 0.5), (0.5, 9.0), (9.0, 9.0), (9.0, 0.5)])
def test_where_the_formula_cannot_be_judged_the_kernel_is_not_either(slope, kernel) -> None:
    def wild(x):
        with np.errstate(all="ignore"):
            return np.where(x == 0, x, x * np.sin(1 / x)).astype(x.dtype)

    found = kernel_of(at_kinks(wild, slope, kernel))
    assert (found.verdict, found.reasons) == (Verdict.INCONCLUSIVE, (Reason.JUMP,))
    assert found.num_passed == 1


def test_without_time_the_kernel_is_not_judged() -> None:
    found = kernel_of(target_of("tanh", "float32"), budget_s=1e-9)
    assert (found.verdict, found.reasons) == (Verdict.INCONCLUSIVE, (Reason.BUDGET,))
    assert found.detail == "there was no time left"


def test_of_a_subset_only_those_elements_are_judged() -> None:
    found = kernel_of(target_of("tanh", "float32"), subset=5, verbose=True)
    assert found.num_elements == 5
    session = Session(target_of("tanh", "float32"), GradCheckConfig(subset=5))
    claimed = session.analytical(0, "float64")
    for error in found.element_errors or ():
        assert np.isin(np.round(error.numerical, 6), np.round(claimed[:, error.index], 6))


def test_a_kernel_that_has_lost_its_digits_is_a_warning() -> None:
    x = np.random.default_rng([3, 0]).uniform(7, 12, 6)
    target = NumpyTarget(np.tanh, lambda x, v: v * (1 - np.tanh(x) ** 2), [x], "float32")
    formula, kernel = checked(target).results
    assert formula.verdict is Verdict.PASS
    assert (kernel.verdict, kernel.reasons) == (Verdict.PASS, (Reason.PRECISION_LOSS,))
