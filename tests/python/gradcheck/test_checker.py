"""GradientChecker and the gradients of tensors."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, eager
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.eager import Tensor
from fluidcore.gradcheck.checker import GradientChecker
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.fixed_step.comparison import plain_results
from fluidcore.gradcheck.report.result import GradientError
from fluidcore.gradcheck.target.target import Input, Target
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.array([1.0, 2.0, 3.0])
PLAIN = GradCheckConfig.plain()


def square(x: Any) -> Any:
    return x * x


def total(x: Any) -> Any:
    return (x * x).sum()


# Numerical gradients


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("config", [GradCheckConfig(), PLAIN])
def test_the_numerical_gradient_of_arrays_and_tensors(dtype: str, config: GradCheckConfig) -> None:
    checker = GradientChecker(config)
    of_array = checker.compute_numerical_gradient(total, X.astype(numpy_dtype(dtype)))
    assert isinstance(of_array, np.ndarray)
    assert of_array.dtype == np.float64
    np.testing.assert_allclose(of_array, 2 * X, rtol=1e-8)
    of_tensor = checker.compute_numerical_gradient(total, Tensor(X, dtype=dtype))
    assert isinstance(of_tensor, Tensor)
    np.testing.assert_allclose(of_tensor.numpy(), 2 * X, rtol=1e-8)


def test_central_and_forward_differences() -> None:
    def cube(x: Any) -> Any:
        return (x**3).sum()

    h = 0.01
    central = GradientChecker(GradCheckConfig(epsilon=h))
    np.testing.assert_allclose(
        central.compute_numerical_gradient(cube, X), 3 * X**2 + h**2, rtol=1e-9
    )
    forward = GradientChecker(GradCheckConfig(epsilon=h, use_central_difference=False))
    np.testing.assert_allclose(
        forward.compute_numerical_gradient(cube, X), 3 * X**2 + 3 * X * h + h**2, rtol=1e-9
    )


def test_a_cotangent_weights_the_results() -> None:
    v = np.array([1.0, -2.0, 0.5])
    for config in (GradCheckConfig(), PLAIN):
        found = GradientChecker(config).compute_numerical_gradient(square, X, v)
        np.testing.assert_allclose(found, 2 * X * v, rtol=1e-8)


def test_the_input_is_not_changed() -> None:
    x = X.copy()
    GradientChecker().compute_numerical_gradient(total, x)
    np.testing.assert_array_equal(x, X)
    tensor = Tensor(X, requires_grad=True)
    GradientChecker().compute_numerical_gradient(total, tensor)
    assert tensor.grad is None


def test_new_is_a_checker_by_error_bars() -> None:
    assert GradientChecker.new().config == GradCheckConfig()


# The plain comparison


def test_the_statistics_are_those_of_the_design() -> None:
    checker = GradientChecker(GradCheckConfig(epsilon=1e-3, relative_tolerance=0.05))
    claimed = 2 * X * np.array([1.0, 1.1, 1.01])
    result = checker.check_gradient(total, X, claimed, "squares")
    absolute = abs(claimed - 2 * X)
    relative = absolute / np.maximum(claimed, 2 * X)
    assert result.max_relative_error == pytest.approx(relative.max(), rel=1e-6)
    assert result.mean_relative_error == pytest.approx(relative.mean(), rel=1e-6)
    assert result.median_relative_error == pytest.approx(np.median(relative), rel=1e-6)
    assert result.max_absolute_error == pytest.approx(absolute.max(), rel=1e-6)
    assert result.mean_absolute_error == pytest.approx(absolute.mean(), rel=1e-6)
    assert result.median_absolute_error == pytest.approx(np.median(absolute), rel=1e-6)
    assert (result.num_elements, result.num_passed, result.passed) == (3, 2, False)
    assert (result.name, result.shape, result.dtype) == ("squares", (3,), "float64")
    assert result.reasons == (Reason.TOLERANCE,)
    assert result.element_errors is not None
    (error,) = result.element_errors
    index, analytical, numerical = error
    assert (index, analytical, numerical) == (1, pytest.approx(4.4), pytest.approx(4.0))
    assert (error.error_bar, error.verdict) == (0.0, Verdict.FAIL)
    assert "1 of 3 elements" in result.detail
    assert "at [1]: analytical 4.4, numerical 4" in result.detail


def test_an_element_passes_within_either_tolerance() -> None:
    config = GradCheckConfig(relative_tolerance=0.0, absolute_tolerance=0.01)
    claimed = 2 * X + 0.005
    assert GradientChecker(config).check_gradient(total, X, claimed, "x").passed
    config = GradCheckConfig(relative_tolerance=0.01, absolute_tolerance=0.0)
    assert GradientChecker(config).check_gradient(total, X, claimed, "x").passed
    config = GradCheckConfig(relative_tolerance=0.0, absolute_tolerance=0.0)
    assert not GradientChecker(config).check_gradient(total, X, claimed, "x").passed


def test_verbose_keeps_every_element_in_order() -> None:
    claimed = 2 * X * np.array([1.0, 1.1, 1.2])
    config = GradCheckConfig(epsilon=1e-4, verbose=True)
    result = GradientChecker(config).check_gradient(total, X, claimed, "x")
    assert result.element_errors is not None
    assert [error.index for error in result.element_errors] == [0, 1, 2]
    assert [bool(error.verdict) for error in result.element_errors] == [True, False, False]
    result = GradientChecker(PLAIN).check_gradient(total, X, claimed, "x")
    assert result.element_errors is not None
    assert [error.index for error in result.element_errors] == [2, 1]  # worst first
    assert GradientChecker(PLAIN).check_gradient(total, X, 2 * X, "x").element_errors is None


@pytest.mark.parametrize("config", [GradCheckConfig(), PLAIN])
def test_a_gradient_that_is_not_finite_fails(config: GradCheckConfig) -> None:
    claimed = np.array([2.0, np.nan, np.inf])
    result = GradientChecker(config).check_gradient(total, X, claimed, "x")
    assert result.verdict is Verdict.FAIL
    assert result.num_passed == 1
    assert result.max_relative_error == np.inf


@pytest.mark.parametrize("config", [GradCheckConfig(), PLAIN])
def test_a_tensor_without_elements_passes(config: GradCheckConfig) -> None:
    empty = np.zeros((0, 3))
    result = GradientChecker(config).check_gradient(total, empty, empty, "x")
    assert result.passed
    assert result.num_elements == 0


# Error bars


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_gradient_of_an_array_function_is_judged_by_error_bars(dtype: str) -> None:
    x = np.linspace(0.5, 2.0, 6).astype(numpy_dtype(dtype))
    right = np.cos(x.astype(np.float64)).astype(x.dtype)

    def sine(x: Any) -> Any:
        return np.sin(x)

    checker = GradientChecker()
    ones = np.ones(6)
    assert checker.check_gradient(sine, x, right, "sine", ones).passed
    for wrong in (right * 2, -right, right * 0, right + 0.5):
        result = checker.check_gradient(sine, x, wrong.astype(x.dtype), "sine", ones)
        assert result.verdict is Verdict.FAIL
        assert result.reasons == (Reason.MISMATCH,)
        assert result.element_errors


def test_float64_sees_a_millionth() -> None:
    result = GradientChecker().check_gradient(total, X, 2 * X * (1 + 1e-6), "x")
    assert result.verdict is Verdict.FAIL
    result = GradientChecker().check_gradient(total, X, 2 * X, "x")
    assert result.passed
    assert result.resolution < 1e-6


def test_at_a_kink_any_subgradient_is_right() -> None:
    x = np.array([0.0, 1.0])

    def relu(x: Any) -> Any:
        return np.maximum(x, 0).sum()

    for slope in (0.0, 0.5, 1.0):
        assert (
            GradientChecker().check_gradient(relu, x, np.array([slope, 1.0]), "relu").verdict
            is not Verdict.FAIL
        )
    assert not GradientChecker().check_gradient(relu, x, np.array([1.5, 1.0]), "relu").passed


def test_a_constant_function_has_the_gradient_zero() -> None:
    for dtype in (np.float32, np.float64):
        x = X.astype(dtype)
        result = GradientChecker().check_gradient(lambda x: np.float64(3.0), x, x * 0, "constant")
        assert result.passed


def test_f_that_is_not_finite_at_the_point_cannot_be_judged() -> None:
    result = GradientChecker().check_gradient(lambda x: np.log(x - 5).sum(), X, X, "log")
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons == (Reason.DOMAIN,)


# Tensors


def test_a_gradient_of_another_origin_than_the_tape_is_judged_by_itself() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    checker = GradientChecker()
    assert checker.check_gradient(square, x, np.array([2.0, 4.0]), "x", [1.0, 1.0]).passed
    assert not checker.check_gradient(square, x, np.array([2.0, 4.1]), "x", [1.0, 1.0]).passed


def test_gradients_that_have_added_up_are_not_the_gradient() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = square(x)
    y.backward()
    assert x.check_gradient(square, "once").passed
    y.backward()
    result = x.check_gradient(square, "twice")
    assert result.reasons == (Reason.MISMATCH,)
    assert "2 of 2 are wrong" in result.detail
    found = {one.analytical: one.numerical for one in result.element_errors or ()}
    assert found == {4.0: pytest.approx(2.0), 8.0: pytest.approx(4.0)}


def test_a_check_leaves_all_tensors_as_they_are() -> None:
    x, w = Tensor.randn([2, 3], requires_grad=True), Tensor.randn([3, 2], requires_grad=True)
    (x @ w).tanh().backward()
    before = [t.grad for t in (x, w)]
    assert x.check_gradient(lambda x: (x @ w).tanh(), "x").passed
    assert [t.grad for t in (x, w)] == before
    eager.seed(1)
    first = eager.randn([2]).tolist()
    eager.seed(1)
    x.check_gradient(lambda x: (x @ w).tanh(), "x")
    assert eager.randn([2]).tolist() == first


def test_an_error_of_the_tape_itself_is_found() -> None:
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)

    def detached(x: Tensor) -> Tensor:  # forgets half of the gradient
        return x * x.detach()

    detached(x).backward()
    result = x.check_gradient(detached, "x")
    assert result.verdict is Verdict.FAIL
    assert Reason.MISMATCH in result.reasons


def test_random_numbers_must_be_those_of_the_gradient() -> None:
    x = Tensor.ones([50], requires_grad=True)

    def half(x: Tensor) -> Tensor:
        return x.dropout(dropout_prob=0.5)

    half(x).backward()
    result = x.check_gradient(half, "half")
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons == (Reason.STOCHASTIC,)
    assert "with eager.same_numbers()" in result.detail
    x.zero_grad()
    with eager.same_numbers():
        half(x).backward()
    assert x.check_gradient(half, "half").passed


def test_eager_functions_are_differentiated_twice() -> None:
    checker = GradientChecker(GradCheckConfig(second_order=True))
    x, w = Tensor.randn([2, 3]), Tensor.randn([3, 2])
    for f, arguments in (
        (lambda x, w: (x @ w).tanh(), (x, w)),
        (lambda x, w: [(x @ w).tanh(), x * x, w], (x, w)),
        (lambda x: x.softmax() * x, (x,)),
        (lambda x: 2 * x, (x,)),
        (lambda x: x, (x,)),
    ):
        report = checker.check_callable(f, *arguments)
        assert report.verdict is Verdict.PASS
        assert any(one.name.endswith("second order") for one in report.results)


def test_a_result_that_is_an_argument_takes_nothing_from_the_gradients_of_others() -> None:
    x, y = Tensor.randn([3]), Tensor.randn([3])
    assert GradientChecker().check_callable(lambda x, y: [x * y, y], x, y)


def test_f_may_call_backward_on_tensors_of_its_own() -> None:
    def f(x: Tensor) -> Tensor:
        w = Tensor([2.0, 3.0], requires_grad=True)
        (w * w).backward()
        assert w.grad is not None
        return x * w.grad

    assert GradientChecker().check_callable(f, Tensor([1.0, 2.0]))
    x = Tensor([1.0, 2.0], requires_grad=True)
    f(x).backward()
    assert x.check_gradient(f, "f").passed


@pytest.mark.parametrize("how", ["backward", "grad"])
def test_backward_of_an_argument_inside_of_f_is_an_error_that_says_what_to_do(how: str) -> None:
    def f(x: Tensor) -> Tensor:
        y = x * x
        if how == "grad":
            return y * eager.grad(y, x)[0]
        y.backward()
        return y

    with pytest.raises(core.InvalidArgument, match="must not call backward") as caught:
        GradientChecker().check_callable(f, Tensor([1.0, 2.0]))
    assert "check a Program with fluidcore.gradients in it" in str(caught.value)


def test_of_a_large_tensor_a_part_is_looked_at() -> None:
    x = Tensor.randn([3000], requires_grad=True)
    config = GradCheckConfig(n_full=20)
    square(x).backward()
    assert x.check_gradient_with_config(square, "large", config).passed
    assert x.grad is not None
    result = GradientChecker(config).check_gradient(square, x, x.grad * 2, "x", np.ones(3000))
    assert result.verdict is Verdict.FAIL
    assert result.num_elements == 20
    assert result.element_errors is not None
    index, analytical, _ = result.element_errors[0]
    assert analytical == pytest.approx(2 * x.grad.numpy()[index])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_where_f_is_constant_zero_is_right(dtype: str) -> None:
    x = Tensor([-1.0, -2.0], dtype=dtype, requires_grad=True)
    x.relu().backward()
    assert x.check_gradient(lambda x: x.relu(), "relu").passed


def test_without_backward_there_is_nothing_to_check() -> None:
    x = Tensor([1.0], requires_grad=True)
    with pytest.raises(fluid.InvalidArgument, match=r"x: there is no gradient; call backward\(\)"):
        x.check_gradient(square, "x")
    with pytest.raises(fluid.InvalidArgument, match=r"w: there is no gradient; call backward\(\)"):
        GradientChecker().check_tensor(square, x, "w")
    with pytest.raises(fluid.InvalidArgument, match=r"call backward\(\) first"):
        GradientChecker().check_gradient(total, x, x.grad, "x")


@pytest.mark.parametrize("config", [GradCheckConfig(), PLAIN])
def test_several_results_without_a_cotangent_are_summed(config: GradCheckConfig) -> None:
    checker = GradientChecker(config)
    for f in (square, lambda x: (x * x).reshape(3, 1)):
        assert checker.check_gradient(f, X, 2 * X, "x").passed
        assert not checker.check_gradient(f, X, 2 * X * [1, 1, 2], "x").passed
        np.testing.assert_allclose(checker.compute_numerical_gradient(f, X), 2 * X, rtol=1e-8)
    assert checker.central_difference(np.cumsum, X, 0) == pytest.approx(3.0)
    assert checker.forward_difference(np.cumsum, X, 1) == pytest.approx(2.0)


def test_a_cotangent_has_the_shape_of_the_result() -> None:
    for config in (GradCheckConfig(), PLAIN):
        checker = GradientChecker(config)
        with pytest.raises(fluid.InvalidArgument, match=r"cotangent must have the shape .*\[3\]"):
            checker.check_gradient(square, X, 2 * X, "x", np.ones(2))


def test_what_does_not_fit_is_an_error() -> None:
    checker = GradientChecker.with_config(PLAIN)
    with pytest.raises(fluid.InvalidArgument, match=r"shape of the input, \[3\], got \[2\]"):
        checker.check_gradient(total, X, np.ones(2), "x")
    with pytest.raises(TypeError, match="f must return a Tensor"):
        checker.check_gradient(lambda x: x.numpy(), Tensor(X), X, "x")
    with pytest.raises(TypeError, match="config must be a GradCheckConfig, got dict"):
        GradientChecker({"epsilon": 1e-3})  # type: ignore[arg-type]
    with pytest.raises(fluid.InvalidArgument, match="floating"):
        checker.check_gradient(lambda x: x.sum(), Tensor([1, 2]), X, "x")


# Operators, programs, functions


def test_an_operator_is_checked_by_its_type() -> None:
    for config in (None, PLAIN):
        report = GradientChecker(config).check_op("tanh", {"X": X})
        assert report.verdict is Verdict.PASS
        assert report.who == "tanh"


def test_a_program_is_checked() -> None:
    x = fluid.layers.data("x", [3], dtype="float64")
    loss = fluid.layers.mean(fluid.layers.fc(x, 2, act="tanh"))
    fluid.append_backward(loss)
    fluid.Executor().run(fluid.default_startup_program())
    program = fluid.default_main_program()
    for config in (None, PLAIN):
        report = GradientChecker(config).check_program(program, {"x": X[None]}, loss)
        assert report.verdict is Verdict.PASS
        assert len(report.results) >= 2


def test_functions_are_checked() -> None:
    for config in (None, PLAIN):
        checker = GradientChecker(config)
        assert checker.check_callable(square, X, vjp=lambda x, v: 2 * x * v)
        wrong = {"vjp": lambda x, v: 3 * x * v}
        assert not checker.check_callable(square, X, raise_exception=False, **wrong)
        report = checker.check_callable(lambda a, b: (a @ b).exp(), *(Tensor([[0.5]]),) * 2)
        assert report.verdict is Verdict.PASS
    with pytest.raises(TypeError, match="all arguments must be Tensors, got float"):
        GradientChecker().check_callable(lambda a, b: a * b, Tensor(X), 2.0)


def test_what_is_not_proven_is_an_error_with_the_text_of_its_report() -> None:
    program, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(program, startup):
        x = fluid.layers.data("x", [3], dtype="float64", stop_gradient=False)
        loss = fluid.layers.mean(fluid.layers.sqrt(x))
        fluid.append_backward(loss)
    checker = GradientChecker()
    outside = -X[None]  # where a square root has no value
    checks: list[Callable[..., Any]] = [
        partial(checker.check_op, "sqrt", {"X": outside}),
        partial(checker.check_program, program, {"x": outside}, loss),
        partial(checker.check_callable, square, X, vjp=lambda x, v: 3 * x * v),
    ]
    for check in checks:
        with pytest.raises(GradientError) as caught:
            check()
        report = check(raise_exception=False)
        assert caught.value.report is not None
        assert caught.value.report.verdict is report.verdict is not Verdict.PASS
        assert str(caught.value) == str(caught.value.report)


class Wrong(Target):
    """y = x², z = 3x, with a gradient of another dtype, or of another shape."""

    def __init__(self, spoil: Any) -> None:
        self.who, self.dtype, self.spoil = "wrong", "float64", spoil
        self.inputs = [Input("x", X)]

    def forward(self, xs: Any, dtype: str) -> list[Any]:
        return [xs[0] ** 2, 3 * xs[0]]

    def vjp(self, xs: Any, vs: Any, dtype: str) -> list[Any]:
        return [self.spoil(2 * xs[0] * vs[0] + 3 * vs[1])]

    def function(self, dtype: str) -> fluid.core.Function:
        return fluid.core.CallableFunction(lambda xs: self.forward(xs, dtype), [X])


def test_the_plain_comparison_of_a_target() -> None:
    (result,) = plain_results(Wrong(lambda g: g), PLAIN)
    assert result.passed
    assert (result.name, result.num_elements) == ("x", 3)
    (result,) = plain_results(Wrong(lambda g: g * 1.01), PLAIN)
    assert result.reasons == (Reason.TOLERANCE,)
    (result,) = plain_results(Wrong(lambda g: g.astype(np.float32)), PLAIN)
    assert result.reasons == (Reason.WRONG_DTYPE,)
    (result,) = plain_results(Wrong(lambda g: g[:2]), PLAIN)
    assert (result.verdict, result.reasons) == (Verdict.FAIL, (Reason.WRONG_SHAPE,))
    (result,) = plain_results(Wrong(lambda g: g), GradCheckConfig(epsilon=1e-4, subset=2))
    assert result.passed
    assert result.num_elements == 2


def test_every_operator_is_checked_at_twenty_examples_unless_told_otherwise() -> None:
    checker = GradientChecker(GradCheckConfig(audits=False))
    per_dtype = len(checker.check_all_ops(["tanh"], per_op=1))
    assert len(checker.check_all_ops(["tanh"], per_op=2)) == 2 * per_dtype
    assert signature(checker.check_all_ops).parameters["per_op"].default == 20


def test_one_element_may_be_differentiated_at_the_step_of_the_settings() -> None:
    checker = GradientChecker.with_config(GradCheckConfig(epsilon=0.5))
    x = np.array([1.0, 2.0])

    def cube(x: np.ndarray) -> np.ndarray:
        return (x**3).sum()

    assert checker.central_difference(cube, x, 1) == 12.25
    assert checker.forward_difference(cube, x, 1) == 15.25
    tensor = eager.Tensor([1.0, 2.0])
    assert GradientChecker().central_difference(lambda t: (t * t).sum(), tensor, 0) == (
        pytest.approx(2.0, abs=1e-9)
    )
    for index in (2, -1, 0.5):
        with pytest.raises(core.InvalidArgument, match="index must be that of one of 2 elements"):
            checker.central_difference(cube, x, index)
