"""The examples of the design, and the errors that it expects, in every element type."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fluidcore import eager
from fluidcore.eager import Tensor
from fluidcore.gradcheck.checker import GradientChecker
from fluidcore.gradcheck.config import GradCheckConfig

DTYPES = ["float64", "float32", "float16", "bfloat16"]
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    eager.seed(11)


def test_example_1_a_simple_function() -> None:
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)

    y = x * x
    y.backward()

    checker = GradientChecker.new()
    assert x.grad is not None
    assert checker.check_gradient(lambda x: x * x, x, x.grad, "x_squared").passed

    result = x.check_gradient(lambda x: x * x, "x_squared")
    assert result.passed
    assert result.name == "x_squared"
    assert result.max_relative_error < 1e-3


def test_example_1_with_the_methods_of_the_design() -> None:
    x = Tensor.from_vec([1.0, 2.0, 3.0], [3])
    x.set_requires_grad(True)

    y = x.mul(x)
    y.backward()

    assert x.check_gradient(lambda x: x.mul(x), "x_squared").passed


def test_example_2_a_layer_of_a_network() -> None:
    x = Tensor.randn([10, 5])
    x.set_requires_grad(True)

    w = Tensor.randn([5, 3])
    w.set_requires_grad(True)

    # Forward: y = relu(x @ w)
    y = x.matmul(w).relu()
    y.backward()

    x_result = x.check_gradient(lambda x: x.matmul(w).relu(), "x_gradient")
    w_result = w.check_gradient(lambda w: x.matmul(w).relu(), "w_gradient")

    assert x_result.passed
    assert w_result.passed


def test_example_3_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).backward()
    config = GradCheckConfig(
        epsilon=1e-3,
        relative_tolerance=1e-2,
        absolute_tolerance=1e-4,
        use_central_difference=True,
        verbose=True,
    )

    result = x.check_gradient_with_config(lambda x: x * x, "custom_check", config)
    assert result.passed
    assert result.element_errors is not None
    assert len(result.element_errors) == 3

    result = x.check_gradient_with_config(lambda x: x * x * x, "custom_check", config)
    if not result.passed:
        print("Gradient check failed!")
        if result.element_errors is not None:
            for i, analytical, numerical in result.element_errors:
                print(f"  Element {i}: analytical={analytical}, numerical={numerical:.4f}")
    assert capsys.readouterr().out.splitlines() == [
        "Gradient check failed!",
        "  Element 0: analytical=2.0, numerical=3.0000",
        "  Element 1: analytical=4.0, numerical=12.0000",
        "  Element 2: analytical=6.0, numerical=27.0000",
    ]


def test_a_numerical_gradient_can_be_written_with_the_methods_of_the_design() -> None:
    def central_difference(f: Callable[[Tensor], Tensor], input: Tensor, index: int) -> float:
        epsilon = 2.0**-10
        input_plus, input_minus = input.to_vec(), input.to_vec()
        input_plus[index] += epsilon
        input_minus[index] -= epsilon
        f_plus = f(Tensor.from_vec(input_plus, input.dims(), "float64"))
        f_minus = f(Tensor.from_vec(input_minus, input.dims(), "float64"))
        difference: float = f_plus.to_vec()[0] - f_minus.to_vec()[0]
        return difference / (2 * epsilon)

    def f(x: Tensor) -> Tensor:
        return x.square().sum()

    x = Tensor.randn([2, 3], dtype="float64")
    gradient = [central_difference(f, x, i) for i in range(len(x.to_vec()))]
    found = Tensor.from_vec(gradient, x.dims(), "float64")
    assert GradientChecker.new().check_gradient(f, x, found, "by hand").passed
    np.testing.assert_allclose(found.numpy(), 2 * x.numpy(), rtol=1e-9)


def single(x: Tensor) -> Tensor:
    """16-bit tensors as float32: what has no kernel of its own in 16 bits."""
    return x if x.dtype in ("float32", "float64") else x.astype("float32")


Y = np.linspace(0.5, 2.0, 20).reshape(4, 5)
W = np.linspace(-1.0, 1.0, 15).reshape(5, 3)


def constant(values: Any, x: Tensor) -> Tensor:
    return Tensor(values, dtype=x.dtype)


UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "x^2": lambda x: x * x,
    "x^3": lambda x: x * x * x,
    "exp": lambda x: x.exp(),
    "sin": lambda x: x.sin(),
    "cos": lambda x: x.cos(),
    "add": lambda x: x + constant(Y, x),
    "sub": lambda x: constant(Y, x) - x,
    "mul": lambda x: x * constant(Y, x),
    "div": lambda x: x / constant(Y, x),
    "matmul": lambda x: single(x).matmul(constant(W, single(x))),
    "relu": lambda x: x.relu(),
    "gelu": lambda x: x.gelu(),
    "tanh": lambda x: x.tanh(),
    "softmax": lambda x: single(x).softmax() * constant(Y, single(x)),
    "sum": lambda x: single(x).sum(),
    "mean": lambda x: single(x).mean(),
    "two layers": lambda x: single(x).matmul(constant(W, single(x))).tanh().square().mean(),
    "a chain": lambda x: (x.sigmoid() * x + 1.0).square().log(),
}

# What the design expects; what it leaves out is taken like the nearest.
LIMITS = {"add": 1e-4, "sub": 1e-4, "matmul": 1e-2, "gelu": 1e-2, "softmax": 1e-2}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_operations_have_the_errors_that_the_design_expects(name: str, dtype: str) -> None:
    f = UNARY[name]
    x = Tensor.randn([4, 5], dtype=dtype, requires_grad=True)
    f(x).backward()
    result = x.check_gradient(f, name)
    assert result.passed, result.detail
    if dtype == "bfloat16":  # the table is for 11 bits and more
        return
    limit = max(LIMITS.get(name, 1e-3), 16 * UNIT[dtype] if name == "a chain" else 0)
    if name in ("x^3", "two layers", "a chain", "tanh"):  # several roundings
        limit = max(limit, 8 * UNIT[dtype])
    assert result.max_relative_error < limit or result.max_absolute_error < 4 * UNIT[dtype]


@pytest.mark.parametrize("dtype", DTYPES[:3])
@pytest.mark.parametrize("name", UNARY)
def test_the_plain_comparison_passes_with_the_tolerances_of_the_design(
    name: str, dtype: str
) -> None:
    f = UNARY[name]
    x = Tensor.randn([4, 5], dtype=dtype, requires_grad=True)
    f(x).backward()
    config = GradCheckConfig.plain()
    if dtype == "float16":  # its unit of rounding is half of the tolerance
        config = GradCheckConfig(relative_tolerance=8e-3, absolute_tolerance=1e-3)
    result = x.check_gradient_with_config(f, name, config)
    assert result.passed, result.detail


@pytest.mark.parametrize("factor", [2.0, -1.0, 0.0, 1.05])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["x^2", "x^3", "exp", "mul", "matmul", "gelu", "softmax"])
def test_a_wrong_gradient_fails_in_every_element_type(name: str, dtype: str, factor: float) -> None:
    if dtype == "bfloat16" and factor == 1.05:  # that may be rounding
        factor = 1.5
    f = UNARY[name]
    x = Tensor.randn([4, 5], dtype=dtype, requires_grad=True)
    (f(x) * factor).backward()
    assert not x.check_gradient(f, name).passed


@pytest.mark.parametrize("epsilon", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
def test_a_wide_range_of_steps_gives_the_same_verdict(epsilon: float) -> None:
    config = GradCheckConfig(epsilon=epsilon)
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x * x).backward()
    result = x.check_gradient_with_config(lambda x: x * x * x, "x^3", config)
    assert result.passed
    # The error of central differences is epsilon^2 until rounding takes over.
    assert result.max_relative_error < epsilon**2 + 1e-8


def test_tolerances_decide() -> None:
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x * 1.01).backward()
    verdicts = {
        tolerance: x.check_gradient_with_config(
            lambda x: x * x, "x^2", GradCheckConfig(relative_tolerance=tolerance)
        ).passed
        for tolerance in (1e-3, 5e-3, 2e-2)
    }
    assert verdicts == {1e-3: False, 5e-3: False, 2e-2: True}
    loose = GradCheckConfig(relative_tolerance=0.0, absolute_tolerance=0.1)
    assert x.check_gradient_with_config(lambda x: x * x, "x^2", loose).passed


def test_a_step_that_float16_cannot_see_is_taken_in_float64() -> None:
    assert np.float16(1.0) + np.float16(1e-4) == np.float16(1.0)
    x = Tensor([0.25, 1.0, 2.0, 100.0], dtype="float16", requires_grad=True)
    (x * 3.0).backward()
    result = x.check_gradient_with_config(lambda x: x * 3.0, "3x", GradCheckConfig.plain())
    assert result.passed
    assert result.max_relative_error < 1e-6


def test_numbers_in_the_function_are_those_of_its_element_type() -> None:
    x = Tensor([1.0, 2.0], dtype="float16", requires_grad=True)
    (x * 0.1).backward()  # 0.1 in float16 is 0.09998
    result = x.check_gradient(lambda x: x * 0.1, "x / 10")
    assert result.passed
    assert result.max_relative_error < 1e-9
