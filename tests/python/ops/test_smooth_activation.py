"""Smooth activations against NumPy."""

from collections.abc import Callable
from math import erf, pi, sqrt
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, Doubles, away_from_zero, normal
from op_runner import run_op
from unary_cases import keeps_nan, of, reaches_its_limits


def gelu(x: Doubles, approximate: bool = False) -> Doubles:
    if approximate:
        return x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2
    return x * (1 + np.vectorize(erf, otypes=[float])(x / sqrt(2))) / 2


def softplus(x: Doubles) -> Doubles:
    return np.logaddexp(0, x)


def swish(x: Doubles, beta: float = 1.0) -> Doubles:
    return x / (1 + np.exp(-beta * x))


def soft_relu(x: Doubles, threshold: float = 40.0) -> Doubles:
    return softplus(np.clip(x, -threshold, threshold))


def elu(x: Doubles, alpha: float = 1.0) -> Doubles:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def stanh(x: Doubles, scale_a: float = 2 / 3, scale_b: float = 1.7159) -> Doubles:
    return scale_b * np.tanh(scale_a * x)


FORMULAS: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "gelu": (gelu, [{"approximate": True}]),
    "swish": (swish, [{"beta": 2.5}, {"beta": -0.5}, {"beta": 0.0}]),
    "silu": (swish, []),
    "mish": (lambda x: x * np.tanh(softplus(x)), []),
    "softplus": (softplus, []),
    "soft_relu": (soft_relu, [{"threshold": 0.625}, {"threshold": 1000.0}]),
    "logsigmoid": (lambda x: -softplus(-x), []),
    "softsign": (lambda x: x / (1 + np.abs(x)), []),
    "stanh": (stanh, [{"scale_a": 1.5, "scale_b": -2.0}]),
    "tanh_shrink": (lambda x: x - np.tanh(x), []),
    "elu": (elu, [{"alpha": 0.25}, {"alpha": 0.0}]),
}
CASES = [
    OpCase(name, {"X": away_from_zero(*shape)}, of(formula), attrs)
    for name, (formula, choices) in FORMULAS.items()
    for attrs in ({}, *choices)
    for shape in SHAPES
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@reaches_its_limits(
    ("gelu", [-1000.0, 1000.0], [0.0, 1000.0]),
    ("swish", [-np.inf, -1000.0, 0.0, 1000.0, np.inf], [0.0, 0.0, 0.0, 1000.0, np.inf]),
    ("silu", [-np.inf, -1000.0, 0.0, 1000.0, np.inf], [0.0, 0.0, 0.0, 1000.0, np.inf]),
    ("mish", [-np.inf, -1000.0, 0.0, 1000.0, np.inf], [0.0, 0.0, 0.0, 1000.0, np.inf]),
    ("softplus", [-np.inf, -1000.0, 1000.0, np.inf], [0.0, 0.0, 1000.0, np.inf]),
    ("logsigmoid", [-np.inf, -1000.0, 1000.0, np.inf], [-np.inf, -1000.0, 0.0, 0.0]),
    ("softsign", [-np.inf, -1e38, 0.0, 1e38, np.inf], [-1.0, -1.0, 0.0, 1.0, 1.0]),
    ("stanh", [-np.inf, 0.0, np.inf], [-1.7159, 0.0, 1.7159]),
    ("tanh_shrink", [-np.inf, -1000.0, 0.0, np.inf], [-np.inf, -999.0, 0.0, np.inf]),
    ("elu", [-np.inf, -1000.0, 0.0, 1000.0, np.inf], [-1.0, -1.0, 0.0, 1000.0, np.inf]),
)
def test_far_out_values_stay_exact(
    name: str, x: list[float], expected: list[float], dtype: str
) -> None:
    out = run_op(name, {"X": np.array(x, dtype=dtype)})["Out"]
    np.testing.assert_array_equal(out, np.array(expected, dtype=dtype))


@reaches_its_limits(
    ("swish", [-np.inf, -1e30, 1e30, np.inf], [0.0, 0.0, 1.0, 1.0]),
    ("silu", [-np.inf, -1e30, 1e30, np.inf], [0.0, 0.0, 1.0, 1.0]),
    ("mish", [-np.inf, -1e30, 1e30, np.inf], [0.0, 0.0, 1.0, 1.0]),
    ("softplus", [-np.inf, -1e30, 1e30, np.inf], [0.0, 0.0, 1.0, 1.0]),
    ("soft_relu", [-np.inf, -40.0, 0.0, 40.0, np.inf], [0.0, 0.0, 0.5, 0.0, 0.0]),
    ("logsigmoid", [-np.inf, -1e30, 1e30, np.inf], [1.0, 1.0, 0.0, 0.0]),
    ("softsign", [-np.inf, -1e30, 0.0, 1e30, np.inf], [0.0, 0.0, 1.0, 0.0, 0.0]),
    ("stanh", [-np.inf, -1e30, 1e30, np.inf], [0.0, 0.0, 0.0, 0.0]),
    ("tanh_shrink", [-np.inf, -1e30, 0.0, 1e30, np.inf], [1.0, 1.0, 0.0, 1.0, 1.0]),
    ("elu", [-np.inf, -1e30, 0.0, 1e30, np.inf], [0.0, 0.0, 1.0, 1.0, 1.0]),
)
def test_slopes_reach_their_limits(
    name: str, x: list[float], expected: list[float], dtype: str
) -> None:
    inputs = {"X": np.array(x, dtype=dtype), "Out@GRAD": np.ones(len(x), dtype=dtype)}
    grad = run_op(f"{name}_grad", inputs)["X@GRAD"]
    np.testing.assert_allclose(grad, np.array(expected, dtype=dtype), rtol=0, atol=1e-50)


SMALL = [1e-30, 1e-6, 1e-3, 0.03, 0.4, 0.9]
WITHOUT_CANCELLATION: dict[str, tuple[list[float], Callable[[Doubles], Doubles]]] = {
    "tanh_shrink": ([1e-10, 1e-6, 1e-3], lambda x: x**3 / 3 - 2 * x**5 / 15 + 17 * x**7 / 315),
    "elu": ([-x for x in SMALL], np.expm1),
    "softplus": ([-80.0, -30.0, -5.0], lambda x: np.log1p(np.exp(x))),
    "logsigmoid": ([80.0, 30.0, 5.0], lambda x: -np.log1p(np.exp(-x))),
    "mish": ([-80.0, -30.0, *SMALL], lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "silu": ([-80.0, -30.0, *SMALL], swish),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", WITHOUT_CANCELLATION)
def test_small_results_keep_their_digits(name: str, dtype: str) -> None:
    points, formula = WITHOUT_CANCELLATION[name]
    x = np.array(points, dtype=dtype)
    out = run_op(name, {"X": x})["Out"]
    exact = formula(x.astype(np.float64))
    np.testing.assert_allclose(out, exact, rtol=16 * np.finfo(dtype).eps, atol=0)


def test_the_gradient_at_the_kink_of_elu_is_that_of_the_left() -> None:
    inputs = {"X": np.zeros(3), "Out@GRAD": np.ones(3)}
    grad = run_op("elu_grad", inputs, {"alpha": 0.25})["X@GRAD"]
    np.testing.assert_array_equal(grad, np.full(3, 0.25))


@pytest.mark.parametrize("name", FORMULAS)
def test_nan_stays_nan(name: str) -> None:
    keeps_nan(name)


@pytest.mark.parametrize(
    ("name", "attr"), [("soft_relu", "threshold"), ("elu", "alpha"), ("elu_grad", "alpha")]
)
@pytest.mark.parametrize("value", [-1.0, -np.inf])
def test_an_attribute_below_zero_is_an_error(name: str, attr: str, value: float) -> None:
    inputs = {"X": normal(2), "Out@GRAD": normal(2)} if name.endswith("_grad") else {"X": normal(2)}
    message = rf"{name}: {attr} must be at least 0, got {value}"
    with pytest.raises(ValueError, match=message):
        run_op(name, inputs, {attr: value})


def test_whole_numbers_are_an_error() -> None:
    message = r"mish: no kernel for int64 on cpu; it has: float16 on cpu, "
    with pytest.raises(ValueError, match=message):
        run_op("mish", {"X": np.ones(2, dtype=np.int64)})
