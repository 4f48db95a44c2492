from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core
from fluidcore.dtypes import numpy_dtype
from fluidcore.gradcheck import GradientError, check, check_grad

MUL = core.OpDesc("mul", {"X": ["x"], "Y": ["w"]}, {"Out": ["out"]}, {})
X = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])
VALUES = {"x": X, "w": np.linspace(-1, 1, 12).reshape(3, 4)}


def values(dtype: str) -> dict[str, Any]:
    return {name: value.astype(numpy_dtype(dtype)) for name, value in VALUES.items()}


RELU = core.OpDesc("relu", {"X": ["x"]}, {"Out": ["y"]}, {})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_right_gradient_passes(dtype: str) -> None:
    check_grad(MUL, values(dtype), ["x", "w"], "out")
    check_grad(MUL, values(dtype), ["w"], "out", no_grad_set={"x"}, only_cpu=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_16_bit_gradient_passes_within_its_own_rounding(dtype: str) -> None:
    tanh = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]}, {})
    check_grad(tanh, {"x": values(dtype)["x"]}, ["x"], "y")


def test_the_default_tolerance_accepts_large_sums_in_float32() -> None:
    rng = np.random.default_rng(0)
    big = {
        "x": rng.standard_normal((3, 200)).astype(np.float32),
        "w": rng.standard_normal((200, 4)).astype(np.float32),
    }
    check_grad(MUL, big, ["x", "w"], "out")


def test_a_wrong_gradient_is_reported_with_its_worst_element() -> None:
    kink = {"x": np.array([1.0, 0.0, -1.0])}  # at 0 the two sides differ
    with pytest.raises(GradientError) as caught:
        check_grad(RELU, kink, ["x"], "y")
    text = str(caught.value)
    assert text.startswith(
        "relu: the gradient of 'y' with respect to 'x' must be within 0.005 of the numerical "
        "one, got a relative error of 1 at [1] of float64 [3]: numerical "
    )
    assert text.endswith("operator 0; 1 of 3 elements are wrong")
    assert isinstance(caught.value, AssertionError)


def test_a_planted_error_in_the_gradient_operator_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = check._operator_gradients

    def wrong(*arguments: Any) -> list[Any]:
        gradients = right(*arguments)
        gradients[0].ravel()[5] *= 1.02
        return gradients

    monkeypatch.setattr(check, "_operator_gradients", wrong)
    with pytest.raises(GradientError, match=r"got a relative error of 0\.02 at \[1, 2\]"):
        check_grad(MUL, VALUES, ["x"], "out")


def test_errors_that_cancel_in_a_sum_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    softmax = core.OpDesc("softmax", {"X": ["x"]}, {"Out": ["y"]}, {})
    check_grad(softmax, {"x": X}, ["x"], "y")

    def zeros(*arguments: Any) -> list[Any]:  # what the plain sum of a softmax has as gradient
        return [np.zeros((2, 3))]

    monkeypatch.setattr(check, "_operator_gradients", zeros)
    with pytest.raises(GradientError):
        check_grad(softmax, {"x": X}, ["x"], "y")


def test_one_variable_in_two_slots() -> None:
    op = core.OpDesc("elementwise_mul", {"X": ["x"], "Y": ["x"]}, {"Out": ["y"]}, {})
    check_grad(op, {"x": X}, ["x"], "y")


def test_a_network_with_parameters_in_a_scope() -> None:
    x = fluid.layers.data("x", [3], dtype="float64")
    hidden = fluid.layers.fc(x, 4, act="tanh")
    loss = fluid.layers.mean(hidden)
    fluid.Executor().run(fluid.default_startup_program())
    program = fluid.default_main_program()
    names = [p.name for p in program.all_parameters()]
    scope = fluid.global_scope()
    before = [np.array(scope.find_var(name).get_tensor()) for name in names]
    check_grad(program, {"x": X}, ["x", *names], loss.name, local_scope=scope)
    for name, value in zip(names, before, strict=True):
        np.testing.assert_array_equal(np.asarray(scope.find_var(name).get_tensor()), value)


def test_an_input_without_gradient_is_an_error() -> None:
    op = core.OpDesc("less_than", {"X": ["x"], "Y": ["y"]}, {"Out": ["out"]}, {})
    with pytest.raises(ValueError, match="less_than: 'out' must depend on 'x'"):
        check_grad(op, {"x": X, "y": X + 1}, ["x"], "out")
    zeros = core.OpDesc("fill_zeros_like", {"X": ["x"]}, {"Out": ["y"]}, {})
    message = "fill_zeros_like: 'y' must depend on 'x' through operators that have a gradient"
    with pytest.raises(ValueError, match=message):
        check_grad(zeros, {"x": X}, ["x"], "y")


def test_unknown_names_are_errors() -> None:
    with pytest.raises(LookupError, match="mul: no operator reads the input 'v'"):
        check_grad(MUL, VALUES, ["v"], "out")
    with pytest.raises(LookupError, match="mul: no operator calculates the output 'z'"):
        check_grad(MUL, VALUES, ["x"], "z")
    with pytest.raises(TypeError, match="inputs_to_check must be a list of names, got the str 'x'"):
        check_grad(MUL, VALUES, "x", "out")


def test_a_check_of_nothing_is_an_error() -> None:
    with pytest.raises(fluid.InvalidArgument, match="there must be an input to check, got none"):
        check_grad(MUL, values("float64"), [], "out")


def test_arguments_of_a_wrong_type_are_named() -> None:
    scope: Any = 5
    with pytest.raises(TypeError, match="the scope must be a Scope, got int"):
        check_grad(MUL, values("float64"), ["x"], "out", local_scope=scope)
    pairs: Any = [("x", X)]
    with pytest.raises(TypeError, match="the values must map names to arrays, got list"):
        check_grad(MUL, pairs, ["x"], "out")
    name: Any = 3
    with pytest.raises(TypeError, match="the name of an output or input must be a str, got int 3"):
        check_grad(MUL, values("float64"), ["x"], name)
    delta: Any = "small"
    with pytest.raises(TypeError, match="delta must be a number, got str 'small'"):
        check_grad(MUL, values("float64"), ["x"], "out", delta=delta)
