"""A whole check: right gradients pass in every dtype, wrong ones do not."""

import dataclasses

import numpy as np
import pytest
from targets import (
    FAULTS,
    FUNCTIONS,
    NumpyTarget,
    checked,
    normalized,
    normalized_vjp,
    planted,
    target_of,
)

from fluidcore import core
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.verdict import Reason, Verdict

DTYPES = ("float64", "float32", "float16", "bfloat16")
X = np.random.default_rng(3).standard_normal((3, 4))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_gradients_pass(name: str, dtype: str) -> None:
    for seed in range(3):
        report = checked(target_of(name, dtype, seed), seed=seed)
        assert report.verdict is Verdict.PASS, (seed, report.results, report.audits)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_gradients_never_fail(name: str, dtype: str) -> None:
    for seed in range(100, 140):
        report = checked(target_of(name, dtype, seed), seed=seed)
        assert report.verdict is not Verdict.FAIL, (seed, report.results)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_formulas_fail(name: str, fault: str) -> None:
    for dtype in ("float64", "float32"):
        target = planted(target_of(name, dtype, 1), FAULTS[fault])
        assert checked(target, audits=False).verdict is Verdict.FAIL, dtype


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_dtype_under_test_alone_gives_no_false_alarm(name: str) -> None:
    for seed in range(3):
        report = checked(target_of(name, "float32", seed), seed=seed, shadow="off")
        assert [one.dtype for one in report.results] == ["float32"] * len(report.results)
        assert report.verdict is not Verdict.FAIL, (seed, report.results)


def test_a_target_without_a_float64_form_is_judged_alone() -> None:
    for dtype in ("float16", "bfloat16"):
        target = target_of("tanh", dtype, has_shadow=False)
        assert checked(target).verdict is not Verdict.FAIL
        assert checked(planted(target, FAULTS["sign"])).verdict is Verdict.FAIL


def test_a_float64_form_that_returns_float32_is_not_used() -> None:
    target = NumpyTarget(
        lambda x: np.tanh(x).astype(np.float32),
        lambda x, v: (v * (1 - np.tanh(x) ** 2)).astype(np.float32),
        [X],
        "float32",
    )
    report = checked(target)
    assert [one.dtype for one in report.results] == ["float32"]
    assert report.verdict is Verdict.PASS
    assert "float64" in report.results[0].detail


def test_formula_and_kernel_are_judged_apart() -> None:
    report = checked(target_of("matmul", "float32"))
    assert [(one.name, one.dtype) for one in report.results] == [
        ("x0", "float64"),
        ("x0", "float32"),
        ("x1", "float64"),
        ("x1", "float32"),
    ]


def test_float64_is_judged_once() -> None:
    assert [one.dtype for one in checked(target_of("tanh")).results] == ["float64"]


def test_only_the_wrong_input_fails() -> None:
    report = checked(planted(target_of("matmul"), FAULTS["one percent"], k=1))
    assert [one.verdict for one in report.results] == [Verdict.PASS, Verdict.FAIL]


def test_the_worst_element_comes_first() -> None:
    def vjp(x, v):
        a = v * (1 - np.tanh(x) ** 2)
        a[1, 2] *= 1.001
        a[2, 3] *= 3
        return a

    (result,) = checked(NumpyTarget(np.tanh, vjp, [X])).results
    assert result.verdict is Verdict.FAIL
    assert result.reasons == (Reason.MISMATCH,)
    assert [error.index for error in result.element_errors or ()] == [11, 6]
    assert result.num_elements == 12
    assert result.num_passed == 10
    first = (result.element_errors or ())[0]
    assert first.analytical == pytest.approx(3 * first.numerical)
    assert result.max_relative_error == pytest.approx(2 / 3)
    assert "element [2, 3]" in result.detail
    assert "2 of 12 are wrong" in result.detail


def test_verbose_lists_every_element() -> None:
    (result,) = checked(target_of("tanh"), verbose=True).results
    assert len(result.element_errors or ()) == 12
    assert checked(target_of("tanh")).results[0].element_errors is None


def test_the_same_seed_gives_the_same_report_for_any_number_of_workers() -> None:
    def report(workers: int):
        target = planted(target_of("rnn", "float32", 2), FAULTS["one element"])
        found = checked(target, seed=5, workers=workers)
        return [dataclasses.replace(one, seconds=0.0) for one in found.results], found.audits

    assert report(1) == report(1) == report(3)


def test_another_seed_draws_others() -> None:
    first, second = (
        checked(target_of("tanh"), seed=seed, levels=True).results[0] for seed in (0, 1)
    )
    assert first.levels != second.levels


def test_subset_checks_that_many_elements() -> None:
    (result,) = checked(target_of("tanh"), subset=5, verbose=True).results
    assert result.num_elements == 5
    assert result.verdict is Verdict.PASS


def test_fixed_cotangent_has_no_linearity_to_check() -> None:
    target = target_of("softmax", fixed_cotangent=True)
    report = checked(target)
    assert report.verdict is Verdict.PASS
    assert not any("cotangent" in audit.name for audit in report.audits)


def test_softmax_whose_gradient_is_zero_for_ones_is_right() -> None:
    f, vjp, _ = FUNCTIONS["softmax"]
    for dtype in DTYPES:
        target = NumpyTarget(f, vjp, [X], dtype, fixed_cotangent=True)
        # 0 is no number to be right about in 16 bits
        wanted = (Verdict.PASS,) if dtype[-2:] != "16" else (Verdict.PASS, Verdict.INCONCLUSIVE)
        assert checked(target).verdict in wanted, dtype


def test_a_number_that_does_not_depend_on_its_input_passes() -> None:
    f, vjp, _ = FUNCTIONS["softmax"]
    target = NumpyTarget(lambda x: f(x).sum(), lambda x, v: vjp(x, np.ones_like(x) * v), [X])
    assert checked(target).verdict is Verdict.PASS
    bad = NumpyTarget(lambda x: f(x).sum(), lambda x, v: f(x) * v, [X])
    assert checked(bad).verdict is Verdict.FAIL


def test_a_cotangent_never_equals_the_data() -> None:
    # the gradient of x / |x| is 0 for v = x, whatever is wrong with its factor
    f, vjp, _ = FUNCTIONS["unit"]
    x = np.random.default_rng(0).standard_normal(7)
    assert checked(NumpyTarget(f, lambda x, v: 2 * vjp(x, v), [x])).verdict is Verdict.FAIL


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_wrong_factor_is_seen_at_any_scale(dtype: str) -> None:
    for scale in (1e-6, 1e-12, 1e6):
        target = NumpyTarget(
            lambda x, c=scale: x.dtype.type(c) * x * x,
            lambda x, v, c=scale: x.dtype.type(4 * c) * x * v,
            [X],
            dtype,
        )
        assert checked(target).verdict is Verdict.FAIL, scale


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_function_that_oscillates_faster_than_any_step_is_not_judged(dtype: str) -> None:
    target = NumpyTarget(
        lambda x: np.sin(x.dtype.type(1e10) * x),
        lambda x, v: v * x.dtype.type(1e10) * np.cos(x.dtype.type(1e10) * x),
        [X],
        dtype,
    )
    for seed in range(10):
        assert checked(target, seed=seed).verdict is Verdict.INCONCLUSIVE


def test_a_step_that_float32_absorbs_is_not_judged() -> None:
    target = NumpyTarget(lambda x: x + 1000, lambda x, v: v, [1e-6 * X], "float32")
    (result,) = checked(target, shadow="off").results
    assert result.verdict is Verdict.INCONCLUSIVE
    assert Reason.ABSORPTION in result.reasons
    assert checked(target).verdict is Verdict.PASS


@pytest.mark.parametrize("dtype", DTYPES)
def test_relu_at_zero_has_many_gradients(dtype: str) -> None:
    x = np.array([0.0, 0.0, 0.0, 1.0])

    def relu(slope: float) -> NumpyTarget:
        return NumpyTarget(
            lambda x: np.maximum(x, 0),
            lambda x, v: v * np.where(x > 0, 1, slope).astype(x.dtype),
            [x],
            dtype,
        )

    for slope in (0.0, 0.5, 1.0):
        report = checked(relu(slope))
        assert report.verdict is Verdict.PASS
        assert report.results[0].kinks == 3
    assert checked(relu(-0.5)).verdict is Verdict.FAIL
    assert checked(relu(0.0), on_kink="fail").results[0].reasons == (Reason.KINK,)
    assert checked(relu(-0.5), on_kink="skip").results[0].num_elements == 1


def test_an_input_without_elements_passes() -> None:
    target = NumpyTarget(np.tanh, lambda x, v: v, [np.zeros((0, 3))], "float32")
    for result in checked(target).results:
        assert (result.verdict, result.reasons) == (Verdict.PASS, ())
        assert (result.num_elements, result.resolution) == (0, 0)


def test_a_number_passes() -> None:
    target = NumpyTarget(np.tanh, lambda x, v: v * (1 - np.tanh(x) ** 2), [np.array(0.3)])
    assert checked(target).verdict is Verdict.PASS


def test_no_time_left_decides_nothing() -> None:
    (result,) = checked(target_of("tanh"), budget_s=1e-9).results
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons == (Reason.BUDGET,)


def test_enough_time_changes_nothing() -> None:
    target = NumpyTarget(np.tanh, lambda x, v: v * (1 - np.tanh(x) ** 2), [np.tile(X, (10, 1))])
    limited, free = (checked(target, budget_s=s).results[0] for s in (100.0, None))
    assert limited.verdict is Verdict.PASS
    assert limited.resolution == free.resolution


def test_an_integer_input_is_refused() -> None:
    target = target_of("tanh")
    target.inputs[0] = dataclasses.replace(target.inputs[0], value=np.arange(3))
    with pytest.raises(core.InvalidArgument, match=r"'x0' must be floating .* got int64"):
        checked(target)


def test_a_target_without_inputs_is_refused() -> None:
    target = target_of("tanh")
    target.inputs = []
    with pytest.raises(core.InvalidArgument, match="there must be an input to check"):
        checked(target)


def test_the_report_says_where_it_was_made() -> None:
    env = checked(target_of("tanh")).env
    assert env["numpy"] == np.__version__
    assert env["fluidcore"] == core.version()


@pytest.mark.parametrize(("dtype", "form"), [("float64", "float64"), ("float32", "float64")])
def test_one_output_that_is_not_finite_leaves_every_input_open(dtype: str, form: str) -> None:
    def f(x, y):
        return np.where(np.arange(3) == 1, np.nan, x * y).astype(x.dtype)

    x = np.ones(3)
    target = NumpyTarget(f, lambda x, y, v: (v * y, v * x), [x, x + 1], dtype)
    report = checked(target)
    assert len(report.results) == (2 if dtype == form else 4)
    for result in report.results:
        assert (result.verdict, result.reasons) == (Verdict.INCONCLUSIVE, (Reason.DOMAIN,))
        assert result.detail == f"f is not finite at the point, in {form}"
    assert [audit.name for audit in report.audits] == ["arguments unchanged"]


class Limited(NumpyTarget):
    """Its time is over after some calls."""

    left = 10**9

    def forward(self, xs, dtype):
        self._count()
        return super().forward(xs, dtype)

    def vjp(self, xs, vs, dtype):
        self._count()
        return super().vjp(xs, vs, dtype)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise core.OutOfTime("the time is over")


def limited(calls: int, dtype: str = "float32") -> Limited:
    target = target_of("div", dtype)
    found = Limited(target.f, target.backward, [part.value for part in target.inputs], dtype)
    found.left = calls
    return found


def test_when_its_time_is_over_a_check_keeps_what_it_has_found() -> None:
    whole = limited(10**9)
    full = checked(whole)
    used = 10**9 - whole.left
    passed = []
    for calls in range(used):
        report = checked(limited(calls))
        seen = [(one.name, one.dtype) for one in report.results]
        expected = [(one.name, one.dtype) for one in full.results]
        if calls < 2:  # f or its gradient is not even known once
            expected = expected[1::2]
            assert report.audits == ()
        assert seen == expected
        for result, right in zip(report.results, full.results, strict=calls > 1):
            if result.verdict is Verdict.PASS:
                assert result.resolution == right.resolution
                continue
            assert (result.verdict, result.reasons) == (Verdict.INCONCLUSIVE, (Reason.BUDGET,))
            assert result.detail.startswith("there was no time left")
        assert all(audit.verdict is Verdict.PASS for audit in report.audits)
        passed.append([bool(one) for one in report.results].count(True))
    assert passed == sorted(passed)
    assert set(passed) >= {0, 1, 2}


def test_without_time_to_find_the_operator_the_results_stay(monkeypatch) -> None:
    def late(*_: object) -> None:
        raise core.OutOfTime("the time is over")

    monkeypatch.setattr("fluidcore.gradcheck.pipeline.run.localised", late)
    report = checked(target_of("tanh"))
    assert report.verdict is Verdict.PASS
    assert report.notes == ("no time left to find the operator",)


def test_each_result_has_its_own_cost(monkeypatch) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(Session, "seconds", lambda self: float(next(clock)))
    calls = {"f": 0, "gradient": 0}

    def f(x, y):
        calls["f"] += 1
        return x / y

    def vjp(x, y, v):
        calls["gradient"] += 1
        return v / y, -v * x / y / y

    results = checked(NumpyTarget(f, vjp, [X, X], "float32")).results
    assert [result.seconds for result in results] == [1.0] * 4
    formulas, kernels = results[::2], results[1::2]
    assert all(result.num_forward > 20 for result in formulas)
    assert all(result.num_backward >= 0 for result in formulas)
    assert all(result.num_forward >= 0 for result in kernels)
    assert sum(result.num_forward for result in results) <= calls["f"]
    assert 0 < sum(result.num_backward for result in results) < calls["gradient"]


def test_what_is_changed_after_the_audits_is_told_too() -> None:
    def target(at: int) -> tuple[NumpyTarget, list[int]]:
        calls = [0]

        def vjp(x, v):
            a = v * (1 - np.tanh(x) ** 2)
            calls[0] += 1
            if calls[0] == at:
                v *= 0
            return a

        return NumpyTarget(np.tanh, vjp, [X], "float32"), calls

    right, calls = target(0)
    assert checked(right).verdict is Verdict.PASS
    last = checked(target(calls[0])[0]).audits[-1]
    assert (last.name, last.reason) == ("arguments unchanged", Reason.INPUT_CHANGED)
    assert checked(target(calls[0])[0], audits=False).audits == ()


def test_dtypes_that_cannot_be_differentiated_are_refused() -> None:
    target = target_of("tanh")
    target.dtype = "int32"
    with pytest.raises(core.InvalidArgument, match="tanh: dtype must be floating, got int32"):
        checked(target)
    target = target_of("div", "float32")
    target.inputs[1] = dataclasses.replace(target.inputs[1], value=X)
    message = "div: the input 'x1' must have the dtype under test, float32, got float64"
    with pytest.raises(core.InvalidArgument, match=message):
        checked(target)


class Counted(NumpyTarget):
    """Counts its calls."""

    def __init__(self, target: NumpyTarget) -> None:
        xs = [part.value for part in target.inputs]
        super().__init__(target.f, target.backward, xs, target.dtype)
        self.forwards = self.backwards = 0

    def forward(self, xs, dtype):
        self.forwards += 1
        return super().forward(xs, dtype)

    def vjp(self, xs, vs, dtype):
        self.backwards += 1
        return super().vjp(xs, vs, dtype)


COUNTED = {
    "right": lambda dtype: target_of("div", dtype),
    "ties": lambda dtype: target_of("max_ties", dtype),
    "wrong": lambda dtype: planted(target_of("tanh", dtype), FAULTS["one element"]),
    "constant": lambda dtype: NumpyTarget(lambda x: 0 * x + 3, lambda x, v: 0 * v, [X], dtype),
    "bias": lambda dtype: NumpyTarget(normalized, normalized_vjp, [X, X[0]], dtype),
    "kernel": lambda dtype: NumpyTarget(
        lambda x: 2 * x, lambda x, v: v * (2 if x.dtype == np.float64 else 2.003), [X], dtype
    ),
}


@pytest.mark.parametrize("settings", [{}, {"mode": "directional"}, {"shadow": "off"}], ids=str)
@pytest.mark.parametrize("name", COUNTED)
def test_every_run_of_f_and_of_its_gradient_is_counted(name: str, settings, monkeypatch) -> None:
    sessions = []

    def made(*arguments) -> Session:
        sessions.append(Session(*arguments))
        return sessions[-1]

    monkeypatch.setattr("fluidcore.gradcheck.pipeline.run.Session", made)
    for dtype in DTYPES[:3]:
        target = Counted(COUNTED[name](dtype))
        checked(target, workers=1, **settings)
        calls = sessions[-1].calls
        assert (calls.forwards, calls.backwards) == (target.forwards, target.backwards), dtype


class Stale(NumpyTarget):
    """A gradient that keeps the slope of its first run for inputs of the same dtype."""

    def __init__(self, dtype: str) -> None:
        super().__init__(lambda x: x**3, self.stale, [X], dtype)
        self.slopes: dict[str, np.ndarray] = {}

    def stale(self, x, v):
        return v * self.slopes.setdefault(x.dtype.name, 3 * x**2)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_gradient_that_keeps_values_of_an_earlier_run_is_wrong(dtype: str) -> None:
    assert checked(Stale(dtype)).verdict is Verdict.FAIL
