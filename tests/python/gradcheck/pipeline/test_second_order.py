"""The gradient of the gradient."""

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
    assert wrong.detail.startswith("no gradient without a cotangent, float64; for v = 0 element 0")
