"""Checks that need no differences."""

import itertools

import numpy as np
import pytest
from targets import FUNCTIONS, NumpyTarget, checked, softmax_of_equal_numbers, target_of

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.audits import audits, unchanged
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(5).standard_normal((3, 4))


def audit_of(report, part: str):
    (found,) = [audit for audit in report.audits if part in audit.name][:1]
    return found


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_gradients_pass_all_audits(name: str, dtype: str) -> None:
    for seed in range(3):
        audits = checked(target_of(name, dtype, seed), seed=seed).audits
        assert all(audit.verdict is Verdict.PASS for audit in audits), audits


@pytest.mark.parametrize(
    ("vjp", "name"),
    [
        (lambda x, v: v * 2 * x + 1e-3, "without a cotangent"),
        (lambda x, v: v * v * 2 * x, "minus a 64th"),
        (lambda x, v: abs(v) * 2 * x, "of a sum"),
        (lambda x, v: 2 * x, "without a cotangent"),
    ],
)
def test_a_gradient_that_is_not_linear_in_the_cotangent_fails(vjp, name: str) -> None:
    audit = audit_of(checked(NumpyTarget(lambda x: x * x, vjp, [X])), name)
    assert audit.verdict is Verdict.FAIL
    assert audit.reason is Reason.NOT_LINEAR


def test_a_gradient_that_keeps_a_sum_is_not_repeatable() -> None:
    total = [0.0]

    def vjp(x, v):
        total[0] += 1
        return v * 2 * x * total[0]

    audit = audit_of(checked(NumpyTarget(lambda x: x * x, vjp, [X])), "repeatable")
    assert audit.verdict is Verdict.FAIL
    assert audit.reason is Reason.NOT_REPEATABLE


def test_rounding_in_another_order_is_repeatable_enough() -> None:
    orders = itertools.cycle(range(3))

    def vjp(x, v):
        return v * 2 * x * (1 + next(orders) * 2.0**-52)

    report = checked(NumpyTarget(lambda x: x * x, vjp, [X]))
    assert report.verdict is Verdict.PASS
    assert "ulps" in audit_of(report, "repeatable").detail


def test_what_is_written_into_the_input_is_told() -> None:
    def f(x):
        y = x * x
        x *= 2
        return y

    report = checked(NumpyTarget(f, lambda x, v: v * 2 * x, [X]))
    audit = audit_of(report, "unchanged")
    assert audit.reason is Reason.INPUT_CHANGED
    assert audit.detail == "f changes its input 'x0'"
    assert all(report.results)


def test_what_is_written_into_the_cotangent_is_told() -> None:
    def vjp(x, v):
        v *= 2 * x
        return v

    audit = audit_of(checked(NumpyTarget(lambda x: x * x, vjp, [X])), "unchanged")
    assert audit.detail == "the gradient changes the cotangent of output 0"


@pytest.mark.parametrize(
    ("vjp", "reason", "text"),
    [
        (
            lambda x, v: (v * x).sum(),
            Reason.WRONG_SHAPE,
            "must have the shape of the input, [3, 4]",
        ),
        (lambda x, v: (v * x).T, Reason.WRONG_SHAPE, "got [4, 3]"),
        (lambda x, v: None, Reason.WRONG_SHAPE, "must be an array, got None"),
        (lambda x, v: (v, v), Reason.WRONG_SHAPE, "must be a list of 1 arrays, got 2 arrays"),
        (lambda x, v: v.astype(np.float16), Reason.WRONG_DTYPE, "got float16"),
        (lambda x, v: v.astype(np.int64), Reason.WRONG_DTYPE, "got int64"),
    ],
)
def test_a_gradient_of_another_form_fails_by_that(vjp, reason: Reason, text: str) -> None:
    for wanted in (True, False):
        report = checked(NumpyTarget(lambda x: x * x, vjp, [X]), audits=wanted)
        (result,) = report.results
        assert result.verdict is Verdict.FAIL
        assert result.reasons == (reason,)
        assert text in result.detail


def test_audits_can_be_left_out() -> None:
    assert checked(target_of("tanh"), audits=False).audits == ()


QUIET = Noise(None, [np.zeros(12)], False, "")
ROUNDING = {"float64": 1e-9, "float32": 1e-4, "float16": 0.05, "bfloat16": 0.3}


def square(vjp=lambda x, v: v * 2 * x, dtype: str = "float64", **options) -> NumpyTarget:
    return NumpyTarget(lambda x: x * x, vjp, [X], dtype, **options)


def audits_of(target: NumpyTarget, noise: Noise = QUIET, **settings):
    found = audits(Session(target, GradCheckConfig(**settings)), noise)
    return {audit.name: audit for audit in found}


def test_linearity_is_looked_at_in_both_dtypes() -> None:
    assert list(audits_of(square(dtype="float32"))) == [
        "shape and dtype",
        "repeatable",
        "no gradient without a cotangent, float64",
        "minus a 64th of the gradient for minus a 64th of the cotangent, float64",
        "no gradient without a cotangent, float32",
        "minus a 64th of the gradient for minus a 64th of the cotangent, float32",
        "the gradient of a sum is the sum, float64",
        "arguments unchanged",
    ]
    without = ["shape and dtype", "repeatable", "arguments unchanged"]
    assert list(audits_of(square(fixed_cotangent=True))) == without
    assert list(audits_of(square(), Noise(None, [], True, "f is random"))) == without
    for bad in ("float64", "float32"):

        def vjp(x, v, bad=bad):
            return 2 * x * v * x.dtype.type(np.nan if x.dtype.name == bad else 1)

        assert list(audits_of(square(vjp, "float32"))) == without


def test_a_random_function_is_not_repeatable_for_sure() -> None:
    audit = audits_of(square(), Noise(None, [], True, "f is random"))["repeatable"]
    assert (audit.verdict, audit.reason) == (Verdict.INCONCLUSIVE, Reason.STOCHASTIC)
    assert audit.detail == "f is random"


def varying(first: np.ndarray, element: int, deviation: float) -> core.Repetition:
    """Eight runs, half of which are off in one element."""
    other = first.copy()
    other[element] += deviation / np.sqrt(2 / 7)
    runs = core.Repetition(first)
    while runs.wants_more:
        runs.add(other if runs.runs % 2 else first)
    return runs


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("part", "verdict"), [(0.9, Verdict.PASS), (1.1, Verdict.FAIL)])
def test_how_far_a_gradient_may_vary_follows_from_its_dtype(dtype, part, verdict) -> None:
    target = square(dtype=dtype)
    session = Session(target, GradCheckConfig(shadow="off"))
    first = session.gradients(0, dtype)[0]
    size = np.abs(first).max()
    runs = varying(first, 3, part * ROUNDING[dtype] * size)
    noise = Noise(None, [runs.deviation], False, "f does not repeat itself", [runs])
    audit = audits_of(target, noise, shadow="off")["repeatable"]
    assert audit.verdict is verdict
    assert audit.reason is (Reason.NOT_REPEATABLE if verdict is Verdict.FAIL else None)
    ulps = part * ROUNDING[dtype] / (2 * UNIT[dtype])
    assert audit.detail == (
        f"f does not repeat itself; the gradient by 'x0' varies by {ulps:.2g} ulps of its largest"
    )


def test_only_the_inputs_that_vary_are_named() -> None:
    target = NumpyTarget(lambda x, y: x * y, lambda x, y, v: (v * y, v * x), [X, X])
    first = np.ones(12)
    runs = [core.Repetition(first), varying(first, 0, 1e-15)]
    noise = Noise(None, [np.zeros(12), runs[1].deviation], False, "", runs)
    audit = audits_of(target, noise)["repeatable"]
    assert audit.detail.startswith("the gradient by 'x1' varies by ")
    assert audits_of(square())["repeatable"] == ("repeatable", Verdict.PASS, None, "")


def test_the_first_fault_of_the_form_is_told() -> None:
    target = NumpyTarget(
        lambda x, y: x * y, lambda x, y, v: (v * y, (v * x)[:1]), [X, X], "float32"
    )
    audit = audits_of(target, Noise(None, [np.zeros(12)] * 2, False, ""))["shape and dtype"]
    assert (audit.verdict, audit.reason) == (Verdict.FAIL, Reason.WRONG_SHAPE)
    assert audit.detail.startswith("'x1': ")
    assert audits_of(square())["shape and dtype"] == ("shape and dtype", Verdict.PASS, None, "")


def test_the_element_that_is_not_zero_is_named() -> None:
    def vjp(x, v):
        a = v * 2 * x
        a[1, 1] += 1e-3
        a[2, 0] += 5
        return a

    audit = audits_of(square(vjp))["no gradient without a cotangent, float64"]
    assert (audit.verdict, audit.reason) == (Verdict.FAIL, Reason.NOT_LINEAR)
    assert audit.detail == "element 8 of 'x0' is 5, not 0"
    right = audits_of(square())["no gradient without a cotangent, float64"]
    assert (right.verdict, right.detail) == (Verdict.PASS, "")


def bent(part: float, dtype: str, x: np.ndarray = X) -> tuple[NumpyTarget, float]:
    """A gradient that is off near 1/64 of the cotangent, by a part of what rounding may do."""

    def f(x):
        return x * x + x.dtype.type(1)

    session = Session(NumpyTarget(f, lambda x, v: v * 2 * x, [x], dtype), GradCheckConfig())
    (v,), (y,) = session.cotangent(0), session.outputs
    height = np.sum(np.abs(v.astype(float) * y)) / (np.sqrt(np.mean(x * x)) or 1.0)
    off = part * ROUNDING[dtype] * (np.abs(2 * x * v).max() / 64 + height)

    def vjp(x, w):
        a = 2 * x * w
        if x.dtype.name == dtype and np.allclose(abs(w), abs(v / 64), rtol=0.1, atol=0):
            a[1, 2] = a[1, 2].astype(float) + off
        return a

    return NumpyTarget(f, vjp, [x], dtype), off


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("x", [X, 0 * X], ids=["somewhere", "zero"])
def test_a_bend_beyond_rounding_is_no_rounding(dtype: str, x: np.ndarray) -> None:
    name = f"minus a 64th of the gradient for minus a 64th of the cotangent, {dtype}"
    for part, verdict in ((0.97, Verdict.PASS), (1.03, Verdict.FAIL)):
        audit = audits_of(bent(part, dtype, x)[0])[name]
        assert audit.verdict is verdict
        assert audit.reason is (Reason.NOT_LINEAR if verdict is Verdict.FAIL else None)
        assert audit.detail.startswith("element 6 of 'x0' is ")


@pytest.mark.parametrize("factor", [1e8, 1e10, 1e12])
def test_a_gradient_that_is_nothing_but_rounding_may_not_add_up(factor: float) -> None:
    target = softmax_of_equal_numbers(factor)
    for seed in range(6):
        found = audits_of(target, Noise(None, [np.zeros(2)], False, ""), seed=seed)
        audit = found["the gradient of a sum is the sum, float64"]
        assert audit.verdict is not Verdict.FAIL
        assert audit.reason is (Reason.NOISE if audit.verdict is Verdict.INCONCLUSIVE else None)


def test_a_bend_beside_rounding_is_found() -> None:
    def vjp(x, v):
        p = np.full(3, 1 / 3)
        return np.full(2, 1e10 * np.sum(p * (v - np.sum(p * v))) + np.abs(v).max())

    target = softmax_of_equal_numbers(1e10, vjp)
    found = audits_of(target, Noise(None, [np.zeros(2)], False, ""))
    assert found["the gradient of a sum is the sum, float64"].reason is Reason.NOT_LINEAR


def test_what_varies_anyway_may_bend() -> None:
    name = "minus a 64th of the gradient for minus a 64th of the cotangent, float64"
    target, off = bent(2.0, "float64")
    spread = np.zeros(12)
    for part, verdict in ((0.97, Verdict.FAIL), (1.03, Verdict.PASS)):
        spread[0] = part * off / 2 / 8
        assert audits_of(target, Noise(None, [spread], False, ""))[name].verdict is verdict


def test_a_right_sum_has_nothing_to_tell() -> None:
    for dtype in ("float64", "float32", "float16"):
        for shadow in ("auto", "off"):
            found = audits_of(square(dtype=dtype), shadow=shadow)
            (name,) = [name for name in found if "sum" in name]
            assert (found[name].verdict, found[name].detail) == (Verdict.PASS, ""), dtype


def test_the_sum_of_cotangents_is_one_that_the_dtype_holds() -> None:
    seen: list[np.ndarray] = []

    def vjp(x, v):
        seen.append(v.astype(np.float64))
        return v * 2 * x

    x = np.linspace(1, 2, 2000)
    target = NumpyTarget(lambda x: x * x, vjp, [x], "bfloat16")
    session = Session(target, GradCheckConfig(shadow="off"))
    seen.clear()
    audits(session, Noise(None, [np.zeros(2000)], False, ""))
    v = session.cotangent(0)[0].astype(np.float64)
    shares = [
        np.mean(v + w == total)
        for w in seen
        for total in seen
        if w.any() and total.any() and not np.array_equal(w, v)  # 0 is audited, too
    ]
    assert max(shares) > 0.6  # else the second cotangent is rounded


def test_elements_that_are_not_finite_are_left_to_others() -> None:
    largest = np.abs(Session(square(), GradCheckConfig()).weights(0)).max()

    def vjp(x, v):
        a = v * 2 * x
        if np.abs(v).max() > 1.5 * largest:
            a[0, 0] = np.inf
        return a

    found = audits_of(square(vjp))
    assert (
        found["minus a 64th of the gradient for minus a 64th of the cotangent, float64"].verdict
        is Verdict.PASS
    )


def test_what_was_changed_is_told() -> None:
    session = Session(square(), GradCheckConfig())
    assert unchanged(session) == ("arguments unchanged", Verdict.PASS, None, "")
    session.calls.changed += ["one", "two"]
    found = unchanged(session)
    assert (found.verdict, found.reason) == (Verdict.FAIL, Reason.INPUT_CHANGED)
    assert found.detail == "one; two"


def test_a_gradient_of_few_digits_is_right_where_that_of_float64_has_no_more() -> None:
    x = np.arange(9, dtype=np.float32)
    report = checked(NumpyTarget(lambda x: x * 1, lambda x, v: v, [x], "float32"))
    assert report.verdict is Verdict.PASS


def test_a_gradient_that_looks_at_the_sign_of_its_cotangent_is_found() -> None:
    x = np.array([0.5])
    report = checked(NumpyTarget(np.sin, lambda x, v: np.abs(v) * np.cos(x), [x], "float64"))
    names = [audit.name for audit in report.audits if audit.verdict is Verdict.FAIL]
    assert "minus a 64th of the gradient for minus a 64th of the cotangent, float64" in names


def test_the_element_that_needs_no_cotangent_is_named() -> None:
    def vjp(x, v):
        a = v * 2 * x
        a[1, 1] += 0.25
        a[2, 0] += 0.5
        return a

    audit = audit_of(checked(NumpyTarget(lambda x: x * x, vjp, [X])), "without a cotangent")
    assert audit.detail == "element 8 of 'x0' is 0.5, not 0"


def test_infinities_that_stay_the_same_are_none_of_an_audits_business() -> None:
    calls: list[bytes] = []

    def vjp(x, v):
        if v.tobytes() not in calls:
            calls.append(v.tobytes())
        return np.where(calls[0] == v.tobytes(), np.inf, v * 2 * x)

    session = Session(NumpyTarget(lambda x: x * x, vjp, [X]), GradCheckConfig())
    names = [audit.name for audit in audits(session, Noise(None, [np.zeros(12)], False, ""))]
    assert not any("cotangent" in name for name in names)


class Autograd(NumpyTarget):
    """Its gradient is called by a framework, which may leave cotangents of outputs out."""

    is_called_by_autograd = True

    def __init__(self, f, vjp, inputs, **options) -> None:
        super().__init__(f, vjp, inputs, **options)
        self.unused: list[list[int]] = []

    def vjp(self, xs, vs, dtype):
        self.unused.append([j for j, v in enumerate(vs) if v is None])
        return super().vjp(xs, vs, dtype)


GAPS = "the same gradient for a cotangent that is not contiguous, float64"
EXPANDED = "the same gradient for an expanded cotangent, float64"
ALONE = [f"the same gradient if only output {j} is used, float64" for j in range(2)]


def forms_of(f, vjp, x=X, **options):
    target = Autograd(f, vjp, [x], **options)
    found = audits_of(target, Noise(None, [np.zeros(np.size(x))], False, ""))
    return {name: audit for name, audit in found.items() if "same" in name}, target


def two(x, v, w):
    """The gradient of x² and 3x."""
    a = 0 * x if v is None else v * 2 * x
    return a if w is None else a + 3 * w


def test_a_framework_may_hand_on_cotangents_in_any_form() -> None:
    found, target = forms_of(lambda x: x * x, lambda x, v: v * 2 * x)
    assert found == {name: (name, Verdict.PASS, None, "") for name in (GAPS, EXPANDED)}
    assert not any(target.unused)
    found, target = forms_of(lambda x: (x * x, 3 * x), two)
    assert found == {name: (name, Verdict.PASS, None, "") for name in (GAPS, EXPANDED, *ALONE)}
    assert [unused for unused in target.unused if unused] == [[1], [0]]


def test_only_a_framework_has_forms_of_cotangents() -> None:
    plain = NumpyTarget(lambda x: (x * x, 3 * x), two, [X])
    assert not any("same" in name for name in audits_of(plain))


def test_cotangents_of_one_element_or_of_none_have_one_form() -> None:
    found, _ = forms_of(lambda x: x * x, lambda x, v: v * 2 * x, np.array(0.5))
    assert found == {}
    found, _ = forms_of(lambda x: x[:0], lambda x, v: 0 * x)
    assert found == {}
    found, _ = forms_of(lambda x: (x * x, x[:0]), lambda x, v, w: 0 * x if v is None else v * 2 * x)
    assert list(found) == [GAPS, EXPANDED, *ALONE]
    assert all(audit.verdict is Verdict.PASS for audit in found.values())
    found, _ = forms_of(lambda x: 1 * x, lambda x, v: v, X[0, :2])
    assert list(found) == [GAPS, EXPANDED]


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        (lambda v: not v.flags.c_contiguous and 0 not in v.strides, [GAPS]),
        (lambda v: 0 in v.strides, [EXPANDED]),
        (lambda v: not v.flags.c_contiguous, [GAPS, EXPANDED]),
    ],
)
def test_a_gradient_that_reads_its_cotangent_as_if_it_were_contiguous_fails(wrong, names) -> None:
    found, _ = forms_of(lambda x: x * x, lambda x, v: v * 2 * x * (1.5 if wrong(v) else 1.0))
    failed = [name for name, audit in found.items() if audit.verdict is Verdict.FAIL]
    assert failed == names
    assert {found[name].reason for name in names} == {Reason.COTANGENT}
    assert found[names[0]].detail.startswith("element ")


def test_a_gradient_that_takes_an_unused_output_for_a_used_one_fails() -> None:
    def vjp(x, v, w):
        return two(x, v, np.ones_like(x) if w is None else w)

    found, _ = forms_of(lambda x: (x * x, 3 * x), vjp)
    failed = [name for name, audit in found.items() if audit.verdict is Verdict.FAIL]
    assert failed == ALONE[:1]


def test_a_gradient_that_raises_for_a_form_of_its_cotangent_fails() -> None:
    def vjp(x, v):
        if not v.flags.c_contiguous:
            raise ValueError("view size is not compatible\nuse reshape")
        return v * 2 * x

    for audit in forms_of(lambda x: x * x, vjp)[0].values():
        assert audit[1:] == (
            Verdict.FAIL,
            Reason.COTANGENT,
            "it raises ValueError: view size is not compatible",
        )


def test_without_a_cotangent_a_run_beside_the_point_is_enough() -> None:
    for beside, runs in ((0.0, 0), (np.nan, 1), (1.0, 1)):

        def vjp(x, v, beside=beside):
            return v * 2 * x if np.array_equal(x, X) else v * 2 * x + beside

        session = Session(square(vjp), GradCheckConfig())
        session.run_elsewhere("float64")
        session.scaled("float64")
        before = session.calls.backwards
        found = {audit.name: audit for audit in audits(session, QUIET)}
        assert found["no gradient without a cotangent, float64"].verdict is Verdict.PASS
        assert session.calls.backwards - before == runs
