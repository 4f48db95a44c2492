"""What does not fit is refused in words, or has a verdict of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from targets import check

import fluidcore as fluid
from fluidcore import core, eager, layers
from fluidcore.gradcheck import (
    GradCheckReport,
    GradientChecker,
    Reason,
    Verdict,
    check_grad,
    get_numerical_gradient,
)

Array = Any
X = np.array([[0.5, 1.0, -2.0], [0.25, 3.0, 1.0]])
ERRORS = (core.InvalidArgument, core.NotFound, TypeError, ValueError)


def square(x: Array) -> Array:
    return x * x


def gradient(x: Array, v: Array) -> Array:
    return 2 * x * v


def keyword_only(*, x: Array) -> Array:
    return x * x


def generator(x: Array) -> Any:
    yield x * x


class Model:
    """With methods, and callable itself."""

    def forward(self, x: Array) -> Array:
        return x * x

    def backward(self, x: Array, v: Array) -> Array:
        return 2 * x * v

    __call__ = forward


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check(square, np.arange(3), vjp=gradient), "got (int64 [3]); make it one with "),
        (
            lambda: check(square, [1.0, 2.0], vjp=gradient),
            "square: must have a floating NumPy array among its arguments, got ((a value of type "
            "float, a value of type float)); make it one with np.asarray(x, 'float64')",
        ),
        (lambda: check(square, 3.0, vjp=gradient), "got (a value of type float); make it"),
        (lambda: check(square, X.astype(object), vjp=gradient), "got (object [2, 3]); make it"),
        (lambda: check(square, X + 1j, vjp=gradient), "arguments must be real, got complex128"),
        (lambda: check(lambda x: x * 1j, X, vjp=gradient), "outputs must be real, got complex128"),
        (lambda: check(generator, X, vjp=gradient), "generator: must return a floating NumPy arr"),
        (
            lambda: check(keyword_only, X, vjp=gradient),
            "keyword_only: f must take 1 positional argument (the point), got f(*, x): ",
        ),
        (
            lambda: check(square, X, vjp=lambda x: x),
            "square: vjp must take 2 positional arguments (the point, and a cotangent for each "
            "output), got vjp(x): too many positional arguments; wrap it in a lambda",
        ),
        (
            lambda: check(square, X, vjp=gradient, jvp=lambda x: x),
            "square: jvp must take 2 positional arguments (the point, and a direction for each",
        ),
        (lambda: check(square, X), "a function of NumPy arrays must come with its gradient, got"),
        (lambda: check(square, X, vjp=lambda x, v: (v, v)), "the gradient by x must be a real"),
        (lambda: check(square, X, X, vjp=gradient), "square: f must take 2 positional arguments"),
        (lambda: check(square, X, vjp=gradient, epsilom=1), "'epsilom'; did you mean 'epsilon'?"),
        (lambda: check(square, X, vjp=gradient, framework="nunpy"), "; did you mean 'numpy'?"),
        (lambda: check(square, X, vjp=gradient, name=3), "check: name must be a str, got int 3"),
        (lambda: check(square, X, vjp=gradient, seed=-1), "seed must be at least 0, got -1"),
    ],
)
def test_functions_that_do_not_fit_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ERRORS) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("f", "vjp"),
    [
        (Model().forward, Model().backward),
        (Model(), Model().backward),
        (functools.partial(np.multiply, X), lambda x, v: v * X),
        (lambda x, *, power=2: x**power, gradient),
        (np.square, gradient),
    ],
    ids=["method", "object", "partial", "keyword with default", "ufunc"],
)
def test_callables_of_every_kind_can_be_checked(f: Any, vjp: Any) -> None:
    assert check(f, X, vjp=vjp)


def test_a_tensor_of_fluidcore_is_checked_by_its_own_tape() -> None:
    report = check(lambda x: x * x, eager.Tensor([1.0, 2.0]), name="square")
    assert report
    assert {result.dtype for result in report.results} == {"float64", "float32"}


def test_values_that_cannot_be_squared_have_a_verdict() -> None:
    report = check(square, np.array([1e300]), vjp=gradient)
    assert report.results[0].reasons == (Reason.DOMAIN,)
    assert check(lambda x: 2 * x, np.array([1e300]), vjp=lambda x, v: 2 * v)
    assert check(square, np.array([1e-310, 5e-324]), vjp=gradient)
    read_only = X.copy()
    read_only.flags.writeable = False
    assert check(square, read_only, vjp=gradient)


def test_a_gradient_of_nan_is_shown_without_numbers_that_were_not_calculated() -> None:
    report = check(square, X, vjp=lambda x, v: v * np.nan)
    assert report.results[0].reasons == (Reason.NON_FINITE,)
    text = str(report)
    assert "[0, 0]: gradient nan\n" in text + "\n"
    assert "would have been seen" not in text
    assert "numerical nan" not in text


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"X": None}, "tanh: input X must be an array of real numbers, got None"),
        ({"X": X + 1j}, "tanh: input X must be an array of real numbers, got complex128 [2, 3]"),
        ({"X": X.astype(object)}, "must be an array of real numbers, got object [2, 3]"),
        ({"X": ["a"]}, "must be an array of real numbers, got <U1 [1]"),
        ({"X": np.arange(3)}, "tanh: no kernel for int64 on cpu"),
        ({"Y": X}, "tanh: no input slot 'Y'; it has: X"),
        ({}, "tanh: input X must be given"),
        ([X], "inputs must map slots to arrays"),
    ],
)
def test_values_that_an_operator_cannot_take_are_refused(inputs: Any, message: str) -> None:
    with pytest.raises(ERRORS) as caught:
        GradientChecker().check_op("tanh", inputs)
    assert message in str(caught.value)


def test_a_list_of_numbers_is_an_array_and_a_list_of_arrays_is_for_slots_that_take_one() -> None:
    checker = GradientChecker()
    (result,) = checker.check_op("tanh", {"X": [0.5, 1.5]}).results
    assert (result.shape, result.dtype) == ((2,), "float64")
    assert checker.check_op("concat", {"X": [X, [[1.0, 2.0, 3.0]]]}, {"axis": 0})


def test_operators_and_names_that_are_unknown_are_named() -> None:
    op = core.OpDesc("elementwise_mul", {"X": ["x"], "Y": ["y"]}, {"Out": ["z"]})
    values = {"x": X, "y": X}
    no_op: Any = "elementwise_mul"
    for call, message in (
        (lambda: GradientChecker().check_op("softmaxx", {"X": X}), "did you mean 'softmax'?"),
        (lambda: check_grad(op, values, ["q"], "z"), "no operator reads the input 'q'"),
        (lambda: check_grad(op, values, ["x"], "zz"), "the output 'zz'; did you mean 'z'?"),
        (lambda: check_grad(no_op, values, ["x"], "z"), "GradientChecker().check_op takes a type"),
        (lambda: get_numerical_gradient(op, values, "z", "xx"), "'xx'; did you mean 'x'?"),
        (lambda: get_numerical_gradient(op, values, "z", "x", 0), "delta must be positive, got 0"),
    ):
        with pytest.raises(ERRORS) as caught:
            call()
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "mean_0.tmp"}, "no variable 'mean_0.tmp'; did you mean 'mean_0.tmp_0'?"),
        ({"loss": None}, "loss must be a Variable, a name, or a list of them, got NoneType"),
        ({"feed": {}}, "every variable that is read must have a value, got none for 'x'"),
        ({"feed": {"x": None}}, "feed 'x': must be an array, a Tensor, or numbers that float32"),
        ({"feed": {"x": ["a"]}}, "numbers that float32 can hold, got list: <U1 does not convert"),
        (
            {"feed": {"x": X.astype(np.int64)}},
            "feed 'x': must be float32 as the variable, got int64; write x.astype('float32')",
        ),
        ({"feed": [X]}, "feed must map names to arrays"),
        ({"parameter_list": ["fc_0.w"]}, "no variable 'fc_0.w'; did you mean 'fc_0.w_0'?"),
        ({"parameter_list": "fc_0.w_0"}, "parameter_list must be a list or a set"),
        ({"program": 3}, "program must be a Program, got int"),
    ],
)
def test_programs_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    x = layers.data("x", [3])
    loss = layers.mean(layers.fc(x, 2))
    fluid.Executor().run(fluid.default_startup_program())
    given = {
        "program": fluid.default_main_program(),
        "feed": {"x": X.astype(np.float32)},
        "loss": loss,
    }
    with pytest.raises(ERRORS) as caught:
        GradientChecker().check_program(**(given | changes))
    assert message in str(caught.value)


def test_a_list_of_whole_numbers_may_be_fed() -> None:
    x = layers.data("x", [3])
    loss = layers.mean(layers.fc(x, 2))
    fluid.Executor().run(fluid.default_startup_program())
    program = fluid.default_main_program()
    assert GradientChecker().check_program(program, {"x": [[1, 2, 3]]}, loss)


def given_gradient(f: Callable[[Array], Array], right: Array) -> Any:
    return GradientChecker().check_gradient(f, X, right, "given")


def test_a_given_gradient_of_a_random_function_is_not_judged() -> None:
    def noisy(x: Array) -> Array:
        return (x * np.random.default_rng().random(x.shape)).sum()

    result = given_gradient(noisy, X)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons == (Reason.STOCHASTIC,)
    assert "f is random" in result.detail


def test_the_last_bits_of_a_function_with_a_given_gradient_may_differ() -> None:
    rng = np.random.default_rng(0)

    def unordered(x: Array) -> Array:
        return np.add.reduce(rng.permutation((x * x).ravel()))

    assert given_gradient(unordered, 2 * X).verdict is not Verdict.FAIL
    assert Reason.STOCHASTIC not in given_gradient(unordered, 2 * X).reasons


def test_a_function_with_a_given_gradient_must_not_change_its_input() -> None:
    def changing(x: Array) -> Array:
        x += 1
        return x.sum()

    before = X.copy()
    result = given_gradient(changing, np.ones_like(X))
    assert (result.verdict, result.reasons) == (Verdict.FAIL, (Reason.INPUT_CHANGED,))
    assert result.detail == "f changes its input 'x'"
    np.testing.assert_array_equal(X, before)


def test_every_message_of_a_check_names_the_function(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(x: Array) -> Array:
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError) as caught:
        check(fails, X, vjp=gradient)
    assert caught.value.__notes__ == ["fails: raised by f at the inputs x float64 [2, 3]"]
    report: GradCheckReport = check(square, np.zeros((0, 3)), vjp=gradient)
    assert report
    assert "there are no elements" in str(report)
