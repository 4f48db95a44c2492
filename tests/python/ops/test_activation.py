"""Elementary functions against NumPy."""

from collections.abc import Callable
from math import erf

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, Doubles, away_from_zero, normal, positive
from op_runner import run_op
from unary_cases import keeps_nan, of, reaches_its_limits

FORMULAS: dict[str, tuple[Callable[..., Doubles], Callable[[Doubles], Doubles]]] = {
    "sigmoid": (normal, lambda x: 1 / (1 + np.exp(-x))),
    "tanh": (normal, np.tanh),
    "exp": (normal, np.exp),
    "log": (positive, np.log),
    "sin": (normal, np.sin),
    "cos": (normal, np.cos),
    "sqrt": (positive, np.sqrt),
    "square": (normal, np.square),
    "erf": (normal, lambda x: np.vectorize(erf, otypes=[float])(x)),
    "reciprocal": (away_from_zero, np.reciprocal),
    "pow": (positive, lambda x: x),
}

CASES = [
    OpCase(name, {"X": data(*shape)}, of(formula))
    for name, (data, formula) in FORMULAS.items()
    for shape in SHAPES
] + [
    OpCase("pow", {"X": data(3, 17)}, of(np.power), {"factor": factor})
    for data, factor in (
        (normal, 2.0),
        (normal, 0.0),
        (positive, -3.0),
        (positive, 0.5),
        (positive, -1.25),
    )
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@reaches_its_limits(
    ("sigmoid", [-1000.0, 1000.0], [0.0, 1.0]),
    ("tanh", [-1000.0, 1000.0], [-1.0, 1.0]),
    ("exp", [-np.inf, np.inf], [0.0, np.inf]),
    ("log", [0.0, np.inf], [-np.inf, np.inf]),
    ("erf", [-np.inf, np.inf], [-1.0, 1.0]),
    ("reciprocal", [-np.inf, -0.0, 0.0, np.inf], [-0.0, -np.inf, np.inf, 0.0]),
    ("pow", [-np.inf, -0.0, np.inf], [-np.inf, -0.0, np.inf]),
)
def test_far_out_values_stay_exact(
    name: str, x: list[float], expected: list[float], dtype: str
) -> None:
    out = run_op(name, {"X": np.array(x, dtype=dtype)})["Out"]
    np.testing.assert_array_equal(out, np.array(expected, dtype=dtype))


@pytest.mark.parametrize("name", FORMULAS)
def test_nan_stays_nan(name: str) -> None:
    keeps_nan(name)


@pytest.mark.parametrize(("factor", "slope"), [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (0.5, np.inf)])
def test_a_power_has_its_slope_at_zero(factor: float, slope: float) -> None:
    inputs = {"X": np.zeros(3), "Out@GRAD": np.ones(3)}
    grad = run_op("pow_grad", inputs, {"factor": factor})["X@GRAD"]
    np.testing.assert_array_equal(grad, np.full(3, slope))
