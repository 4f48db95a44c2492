"""The gradient of the gradient."""

from dataclasses import replace

import numpy as np
import pytest
from targets import NumpyTarget, checked, target_of

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck import GradCheckConfig, cases
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.adapters.program import program_target
from fluidcore.gradcheck.all_ops import check_example, check_program_example
from fluidcore.gradcheck.cases.example import OpExample
from fluidcore.gradcheck.cases.one_op import one_op
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.pipeline.second_order import check_second_order
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.gradient_target import NoSecondGradientError
from fluidcore.gradcheck.verdict import Reason, Verdict
from tests.power.edits import backward_edits

X = np.random.default_rng(9).standard_normal(5)
Y = np.random.default_rng(10).standard_normal(5)


class Twice(NumpyTarget):
    """x² y, with the gradient of its gradient."""

    factor = 1.0

    def second_vjp(self, xs, vs, us, dtype):
        (x, y), (v,), (a, b) = xs, vs, us
        scale = x.dtype.type(self.factor)
        return [scale * v * (2 * y * a + 2 * x * b), v * 2 * x * a]


def twice(dtype: str = "float64", factor: float = 1.0) -> Twice:
    target = Twice(
        lambda x, y: x * x * y, lambda x, y, v: (v * 2 * x * y, v * x * x), [X, Y], dtype
    )
    target.factor = factor
    return target


def test_a_right_second_gradient_passes() -> None:
    for dtype in ("float64", "float32"):
        report = checked(twice(dtype), second_order=True)
        assert report.verdict is Verdict.PASS
        names = {one.name for one in report.results}
        assert {"x0", "x0, second order", "x1, second order"} <= names
        assert report.results[-1].name == "symmetry of the Hessian"
        assert report.results[-1].detail == ""


def test_a_wrong_second_gradient_fails() -> None:
    report = checked(twice(factor=1.01), second_order=True)
    wrong = [one.name for one in report.results if one.verdict is Verdict.FAIL]
    assert wrong == ["x0, second order"]


def test_the_hessian_of_a_function_is_symmetric() -> None:
    for name in ("tanh", "softmax", "matmul", "rnn", "div", "log_sum_exp"):
        report = checked(target_of(name), second_order=True)
        assert report.results[-1].name == "symmetry of the Hessian"
        assert report.verdict is Verdict.PASS, name


def test_a_gradient_of_no_function_has_no_symmetric_hessian() -> None:
    target = NumpyTarget(lambda x, y: x * y, lambda x, y, v: (v * y, 2 * v * x), [X, Y])
    last = checked(target, second_order=True).results[-1]
    assert last.verdict is Verdict.FAIL
    assert last.reasons == (Reason.MISMATCH,)
    assert "that of no function" in last.detail


class Once(NumpyTarget):
    """x³ of a framework that cannot differentiate its gradient."""

    is_promised = False

    def second_vjp(self, xs, vs, us, dtype):
        raise NoSecondGradientError("cube has one gradient only", is_promised=self.is_promised)


def once(is_promised: bool) -> Once:
    target = Once(lambda x: x * x * x, lambda x, v: 3 * v * x * x, [X])
    target.is_promised = is_promised
    return target


def test_without_a_second_gradient_the_report_says_that_only_the_symmetry_was_checked() -> None:
    report = checked(once(False), second_order=True)
    assert report.verdict is Verdict.PASS
    assert [one.name for one in report.results] == ["x0", "symmetry of the Hessian"]
    said = "only the symmetry was checked: cube has one gradient only"
    assert report.results[-1].detail == said
    assert said in str(report)
    plain = checked(target_of("tanh"), second_order=True).results[-1]
    assert plain.detail == "only the symmetry was checked: tanh has no second gradient"


def test_a_second_gradient_that_is_promised_and_missing_has_its_own_verdict() -> None:
    report = checked(once(True), second_order=True)
    assert report.verdict is Verdict.INCONCLUSIVE
    absent = report.results[1]
    assert (absent.name, absent.reasons) == ("second order", (Reason.NO_SECOND,))
    assert absent.detail == "cube has one gradient only"


def test_a_gradient_of_the_wrong_form_has_no_second_order() -> None:
    target = NumpyTarget(lambda x: x * x, lambda x, v: (2 * v * x)[1:], [X])
    last = checked(target, second_order=True).results[-1]
    assert (last.name, last.verdict) == ("second order", Verdict.INCONCLUSIVE)
    assert "the gradient itself has the wrong form" in last.detail


def test_a_random_function_has_no_second_order() -> None:
    rng = np.random.default_rng(0)
    target = NumpyTarget(lambda x: x * x * rng.random(5), lambda x, v: 2 * v * x, [X])
    last = checked(target, second_order=True).results[-1]
    assert (last.name, last.reasons) == ("second order", (Reason.STOCHASTIC,))


def second_names(report) -> list[str]:
    return [one.name for one in report.results if one.name.endswith(", second order")]


@pytest.mark.parametrize("op_type", ["tanh", "matmul", "softmax", "elementwise_div", "conv2d"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_operators_are_differentiated_twice(op_type: str, dtype: str) -> None:
    example = cases.examples(op_type, 0, dtype)[0]
    report = check_example(example, GradCheckConfig(second_order=True))
    assert report.verdict is Verdict.PASS
    found = second_names(report)
    assert "cotangent, second order" in found
    assert all(f"{slot}, second order" in found for slot in example.slots_to_check())


def test_operators_at_kinks_and_ties_are_not_accused() -> None:
    for op_type in ("relu", "abs", "clip", "elementwise_max", "reduce_max"):
        for example in cases.examples(op_type, 1, "float64"):
            if not example.note:
                continue
            report = check_example(example, GradCheckConfig(second_order=True))
            for result in report.results:
                is_jump = result.reasons == (Reason.JUMP,)  # of the gradient, at a kink of f
                expected = Verdict.INCONCLUSIVE if is_jump else Verdict.PASS
                assert result.verdict is expected, str(example)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_the_rounding_of_a_gradient_that_is_zero_is_not_accused(dtype: str) -> None:
    for seed in (0, 1, 12):
        x = np.random.default_rng(seed).standard_normal((3, 5)).astype(numpy_dtype(dtype))
        one = one_op(OpExample("elementwise_div", {"X": x, "Y": x}))
        target = operator_target(one.op, one.values, inputs_to_check=one.op.input("X"))
        assert checked(target, second_order=True).verdict is Verdict.PASS


def test_a_gradient_that_is_zero_at_one_point_only_is_differentiated() -> None:
    def second(x, v, u):
        return -v * u * np.cos(x)

    target = NumpyTarget(np.cos, lambda x, v: -v * np.sin(x), [np.zeros(3)])
    for factor, verdict in ((1, Verdict.PASS), (2, Verdict.FAIL)):
        target.second_vjp = lambda xs, vs, us, dtype, by=factor: [by * second(*xs, *vs, *us)]
        assert checked(target, second_order=True).verdict is verdict


def test_an_input_without_elements_has_no_wrong_second_gradient() -> None:
    for shape in ((0,), (3, 0)):
        report = checked(operator_target("tanh", {"X": np.zeros(shape)}), second_order=True)
        assert report.verdict is Verdict.PASS, str(report)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_input_without_influence_takes_nothing_from_the_others(dtype: str) -> None:
    a, b = (x.astype(numpy_dtype(dtype)) for x in (X, Y))
    target = operator_target("select_input", {"X": [a, b], "Mask": np.array([1], np.int32)})
    report = checked(target, second_order=True)
    assert report.verdict is Verdict.PASS, str(report)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_digits_that_the_first_gradient_has_lost_are_no_fault_of_the_second(dtype: str) -> None:
    x = np.array([1e-3, -2e-3, 5e-4, -4e-4]).astype(numpy_dtype(dtype))
    report = checked(operator_target("sigmoid", {"X": x}), second_order=True)
    assert report.verdict is not Verdict.FAIL


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_cotangent_may_be_of_another_dtype_than_the_output(dtype: str) -> None:
    attributes = {"in_dtype": core.dtype_number(dtype), "out_dtype": core.dtype_number("float64")}
    target = operator_target("cast", {"X": Y.astype(numpy_dtype(dtype))}, attributes)
    assert checked(target, second_order=True).verdict is Verdict.PASS


def doubled(program):
    """The last gradient operator of the program counts twice."""
    wrong = program.clone()
    block = wrong.block(0)
    op = block.op(block.op_size() - 1)
    (name,) = [name for name in op.output_arg_names() if name != core.EMPTY_VAR_NAME][:1]
    slot = next(slot for slot, names in op.outputs().items() if name in names)
    op.set_output(slot, [f"{name}@HALF"])
    half = block.var(f"{name}@HALF")
    half.set_shape(block.var(name).shape())
    half.set_dtype(block.var(name).dtype())
    block.add_op("scale", {"X": [half.name()]}, {"Out": [name]}, {"scale": 2.0}, "")
    return wrong


def test_a_wrong_gradient_of_a_gradient_operator_fails_and_is_named() -> None:
    for op_type in ("tanh", "softmax", "matmul", "sqrt"):
        one = one_op(cases.examples(op_type, 0, "float64")[0])
        target = operator_target(one.op, one.values)
        report = checked(target.with_second(doubled), second_order=True)
        wrong = [result.name for result in report.results if result.verdict is Verdict.FAIL]
        assert wrong, op_type
        assert all(name.endswith("second order") for name in wrong)


def test_edits_of_the_second_backward_program_are_found() -> None:
    target = operator_target("sigmoid", {"X": X})
    first = target.backward_program().block(0).op_size()
    edits = list(backward_edits(target.second_program(), first))
    right, found = target.second_vjp([X], [X], [Y], "float64"), 0
    for edit in edits:
        if edit.applied(target.second_program()) is None:
            continue
        target_with_bug = target.with_second(edit.applied)
        got = target_with_bug.second_vjp([X], [X], [Y], "float64")
        if all(np.allclose(a, b) for a, b in zip(got, right, strict=True)):
            continue
        report = checked(target_with_bug, second_order=True)
        found += 1
        assert report.results[0].verdict is Verdict.PASS
        wrong = [one.name for one in report.results if one.verdict is Verdict.FAIL]
        assert any(name.endswith(", second order") for name in wrong), edit.name
    assert found >= 2


@pytest.mark.parametrize("name", ["mlp", "loop", "branch", "recurrence"])
def test_programs_are_differentiated_twice(name: str) -> None:
    example = cases.program_example(name, 0, "float64")
    report = check_program_example(example, GradCheckConfig(second_order=True))
    assert report.verdict is Verdict.PASS
    assert second_names(report)


def test_gradients_that_a_program_has_already_are_differentiated() -> None:
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = layers.data("x", [5], dtype="float64", append_batch_size=False, stop_gradient=False)
        loss = layers.reduce_sum(layers.tanh(x))
        fluid.append_backward(loss)
    report = checked(program_target(main, {"x": X}, loss), second_order=True)
    assert report.verdict is Verdict.PASS
    assert second_names(report) == ["x, second order"]


def test_a_second_gradient_that_is_not_linear_fails_its_audit() -> None:
    class Offset(Twice):
        def second_vjp(self, xs, vs, us, dtype):
            return [a + a.dtype.type(1e-12) for a in super().second_vjp(xs, vs, us, dtype)]

    right = twice()
    target = Offset(right.f, right.backward, [X, Y])
    report = checked(target, second_order=True)
    (wrong,) = (one for one in report.results if one.verdict is Verdict.FAIL)
    assert wrong.reasons == (Reason.NOT_LINEAR,)
    name, _, text = wrong.detail.partition("; ")
    assert name == "no gradient without a cotangent, float64"
    assert text.endswith(" of 'x0' is 1e-12, not 0")


ALL = GradCheckResult("x0", (5,), "float64", "cpu", "full", Verdict.PASS)


@pytest.mark.parametrize(
    ("verdict", "reasons", "num_elements", "is_hindered"),
    [
        (Verdict.PASS, (), 5, False),
        (Verdict.FAIL, (Reason.MISMATCH,), 5, False),
        (Verdict.INCONCLUSIVE, (Reason.KINK,), 0, False),
        (Verdict.INCONCLUSIVE, (Reason.STOCHASTIC,), 0, True),
        (Verdict.FAIL, (Reason.NON_FINITE,), 5, True),
        (Verdict.FAIL, (Reason.MISMATCH, Reason.NON_FINITE), 5, True),
        (Verdict.INCONCLUSIVE, (Reason.DOMAIN,), 0, True),
        (Verdict.INCONCLUSIVE, (Reason.DOMAIN,), 1, False),  # of some elements only
        (Verdict.INCONCLUSIVE, (Reason.DOMAIN, Reason.KINK), 0, False),
        (Verdict.FAIL, (Reason.DOMAIN,), 0, False),
    ],
)
def test_a_first_order_that_says_nothing_has_no_second(
    verdict: Verdict, reasons: tuple[Reason, ...], num_elements: int, is_hindered: bool
) -> None:
    session = Session(target_of("tanh"), GradCheckConfig())
    first = replace(
        ALL, verdict=verdict, reasons=reasons, num_elements=num_elements, detail="nothing"
    )
    *_, last = found = check_second_order(session, [ALL, first], run_check)
    if not is_hindered:
        assert last.name == "symmetry of the Hessian"
        return
    assert len(found) == 1
    assert (last.name, last.shape, last.verdict) == ("second order", (), Verdict.INCONCLUSIVE)
    assert last.reasons == (reasons[-1],)
    assert last.detail == "the first order could not be judged: nothing"


def test_a_second_order_that_the_time_limit_ends_is_undecided() -> None:
    session = Session(target_of("tanh"), GradCheckConfig())
    with core.TimeLimit(1e-9):
        (found,) = check_second_order(session, [ALL], run_check)
    assert (found.name, found.reasons) == ("second order", (Reason.BUDGET,))


def test_what_a_framework_has_to_say_of_a_wrong_second_gradient_is_told() -> None:
    target = twice(factor=1.01)
    target.second_note = "a part of it was detached"
    for result in checked(target, second_order=True).results:
        is_wrong = result.name == "x0, second order"
        assert (result.verdict is Verdict.FAIL) is is_wrong
        assert result.detail.endswith("; a part of it was detached") is is_wrong


def tiny(roundings: float, size: float) -> NumpyTarget:
    """f = 1, and a gradient of so many roundings of f over x, whose gradient depends on nothing."""
    x = size * np.array([1.0, -1.0])
    one = NumpyTarget(lambda x: 0 * x + 1, lambda x, v: 0 * v, [x])
    weight = np.abs(Session(one, GradCheckConfig()).weights(0)).sum()
    unit = 2.0**-53 * weight / size

    def vjp(x, v):
        return np.full_like(x, roundings * unit) * np.sign(v).any()

    target = NumpyTarget(one.f, vjp, [x])
    target.second_vjp = lambda xs, vs, us, dtype: [1e-20 + 0 * xs[0]]
    return target


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_gradient_of_up_to_sixteen_roundings_of_f_over_x_is_taken_for_0(size: float) -> None:
    """And rounding need not be linear: the audits of the second gradient are left out."""
    for roundings, is_zero in ((15.9, True), (16.1, False)):
        results = checked(tiny(roundings, size), second_order=True).results
        is_audited = any(Reason.NOT_LINEAR in result.reasons for result in results)
        assert is_audited is not is_zero


def test_a_gradient_that_is_random_is_open_in_its_second_order() -> None:
    random = np.random.default_rng(1)

    class Noisy(Twice):
        def vjp(self, xs, vs, dtype):
            return [a * random.uniform(1, 2) for a in super().vjp(xs, vs, dtype)]

    right = twice()
    report = checked(Noisy(right.f, right.backward, [X, Y]), second_order=True)
    assert report.verdict is Verdict.FAIL  # as it is not repeatable
    seconds = [one for one in report.results if one.name.endswith("second order")]
    assert [one.verdict for one in seconds] == [Verdict.INCONCLUSIVE] * len(seconds)
    assert {reason for one in seconds for reason in one.reasons} == {Reason.STOCHASTIC}


class Valley(NumpyTarget):
    """|x - y| (x - y) / 2 in a valley, where its second derivatives are anything from -1 to 1."""

    hessian = ((0.25, -0.25), (-0.25, 0.25))

    def __init__(self, dtype: str = "float64") -> None:
        super().__init__(
            lambda x, y: abs(x - y) * (x - y) / 2,
            lambda x, y, v: (v * abs(x - y), -v * abs(x - y)),
            [X, X],
            dtype,
        )

    def second_vjp(self, xs, vs, us, dtype):
        rows = [[xs[0].dtype.type(h) for h in row] for row in self.hessian]
        return [vs[0] * (us[0] * a + us[1] * b) for a, b in zip(*rows, strict=True)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_near_kinks_the_second_gradient_decides_whether_the_hessian_is_symmetric(dtype) -> None:
    for seed in range(3):
        report = checked(Valley(dtype), second_order=True, seed=seed)
        second = [one.verdict for one in report.results if one.name.endswith(", second order")]
        assert second == [Verdict.PASS] * len(second)
        assert second
        symmetry = report.results[-1]
        assert symmetry.verdict is Verdict.PASS
        assert symmetry.detail.startswith("decided by the second gradient: ")
        assert (symmetry.reasons, symmetry.num_passed) == ((), 1)
        if dtype == "float64":
            assert symmetry.resolution == 1e-9


def test_a_second_gradient_that_is_not_symmetric_does_not_decide() -> None:
    class Slanted(Valley):
        hessian = ((0.25, -0.25), (-0.2501, 0.25))

    open_ = [checked(Slanted(), second_order=True, seed=seed).results[-1] for seed in range(3)]
    assert {one.verdict for one in open_} == {Verdict.INCONCLUSIVE}


def test_the_runs_that_symmetry_takes_are_counted() -> None:
    right, calls = target_of("tanh"), []

    def vjp(x, v):
        calls.append(1)
        return right.backward(x, v)

    session = Session(NumpyTarget(right.f, vjp, [X]), GradCheckConfig())
    session.gradients(0, "float64")
    before = len(calls)
    assert session.calls.backwards == before
    check_second_order(session, [ALL], run_check)
    assert session.calls.backwards == len(calls) > before + 10


def test_a_gradient_of_0_is_one_beside_others_that_are_not() -> None:
    alone = tiny(1.0, 1.0)
    target = NumpyTarget(
        lambda x, y: 0 * x + 1 + 1e-3 * np.sin(y),
        lambda x, y, v: (alone.backward(x, v), 1e-3 * np.cos(y) * v),
        [alone.inputs[0].value, np.array([0.5, 2.0])],
    )

    def second(xs, vs, us, dtype):
        return [1e-20 + 0 * xs[0], -1e-3 * np.sin(xs[1]) * vs[0] * us[1]]

    target.second_vjp = second
    results = checked(target, second_order=True).results
    assert not any(Reason.NOT_LINEAR in result.reasons for result in results)
