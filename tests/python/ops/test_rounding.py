"""Whole numbers and signs of numbers against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, Doubles, away_from_zero
from op_runner import run_op
from unary_cases import keeps_nan, of

FORMULAS = {"ceil": np.ceil, "floor": np.floor, "round": np.round, "sign": np.sign}
EDGES = [-np.inf, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, np.inf]


def between_steps(*shape: int) -> Doubles:
    """Numbers of both signs at least 0.1 from all multiples of 1/2."""
    x = 4 * away_from_zero(*shape)
    return np.floor(x) + 0.1 + 0.3 * (x - np.floor(x))


CASES = [
    OpCase(name, {"X": between_steps(*shape)}, of(formula))
    for name, formula in FORMULAS.items()
    for shape in SHAPES
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMULAS)
def test_halves_zeros_and_infinities_go_where_numpy_sends_them(name: str, dtype: str) -> None:
    x = np.array(EDGES, dtype=dtype)
    out = run_op(name, {"X": x})["Out"]
    np.testing.assert_array_equal(out, FORMULAS[name](x))
    kept = x if name == "sign" else FORMULAS[name](x)  # NumPy's sign of -0 is 0
    np.testing.assert_array_equal(np.signbit(out), np.signbit(kept))


@pytest.mark.parametrize("name", FORMULAS)
def test_nan_stays_nan(name: str) -> None:
    keeps_nan(name)
