"""Activation operators against NumPy."""

from collections.abc import Callable
from math import erf, pi, sqrt

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, Doubles, away_from_zero, normal, positive
from op_runner import run_op


def gelu(X: Doubles, approximate: bool = False) -> dict[str, Doubles]:
    if approximate:
        return {"Out": X * (1 + np.tanh(sqrt(2 / pi) * (X + 0.044715 * X**3))) / 2}
    return {"Out": X * (1 + np.vectorize(erf, otypes=[float])(X / sqrt(2))) / 2}


FORMULAS: dict[str, tuple[Callable[..., Doubles], Callable[[Doubles], Doubles]]] = {
    "relu": (away_from_zero, lambda x: np.maximum(x, 0)),
    "sigmoid": (normal, lambda x: 1 / (1 + np.exp(-x))),
    "tanh": (normal, np.tanh),
    "exp": (normal, np.exp),
    "log": (positive, np.log),
    "sin": (normal, np.sin),
    "cos": (normal, np.cos),
    "sqrt": (positive, np.sqrt),
    "square": (normal, np.square),
    "abs": (away_from_zero, np.abs),
    "sign": (away_from_zero, np.sign),
    "erf": (normal, lambda x: np.vectorize(erf, otypes=[float])(x)),
}


def of(formula: Callable[[Doubles], Doubles]) -> Callable[..., dict[str, Doubles]]:
    return lambda X: {"Out": np.asarray(formula(X))}


CASES = [
    OpCase(name, {"X": data(*shape)}, of(formula))
    for name, (data, formula) in FORMULAS.items()
    for shape in SHAPES
] + [
    OpCase("gelu", {"X": normal(*shape)}, gelu, attrs)
    for shape in SHAPES
    for attrs in ({}, {"approximate": True})
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("sigmoid", [-1000.0, 1000.0], [0.0, 1.0]),
        ("tanh", [-1000.0, 1000.0], [-1.0, 1.0]),
        ("gelu", [-1000.0, 1000.0], [0.0, 1000.0]),
        ("exp", [-np.inf, np.inf], [0.0, np.inf]),
        ("relu", [-np.inf, np.inf], [0.0, np.inf]),
        ("log", [0.0, np.inf], [-np.inf, np.inf]),
        ("erf", [-np.inf, np.inf], [-1.0, 1.0]),
        ("sign", [-np.inf, -0.0, 0.0, np.inf], [-1.0, 0.0, 0.0, 1.0]),
    ],
)
def test_far_out_values_stay_exact(
    name: str, x: list[float], expected: list[float], dtype: str
) -> None:
    out = run_op(name, {"X": np.array(x, dtype=dtype)})["Out"]
    np.testing.assert_array_equal(out, np.array(expected, dtype=dtype))


@pytest.mark.parametrize(
    "name",
    ["relu", "sigmoid", "tanh", "exp", "sin", "cos", "square", "abs", "sign", "erf", "gelu"],
)
def test_nan_stays_nan(name: str) -> None:
    for size in (1, 8, 33):
        out = run_op(name, {"X": np.full(size, np.nan, dtype=np.float32)})["Out"]
        assert np.isnan(out).all()


@pytest.mark.parametrize(("name", "slot"), [("relu", "Out"), ("abs", "X")])
def test_gradient_at_a_kink_is_zero(name: str, slot: str) -> None:
    zero = np.zeros(3, dtype=np.float32)
    grad = run_op(f"{name}_grad", {slot: zero, "Out@GRAD": np.ones(3, dtype=np.float32)})
    np.testing.assert_array_equal(grad["X@GRAD"], zero)
