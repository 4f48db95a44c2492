"""elementwise_max, elementwise_min and the comparisons against NumPy."""

import numpy as np
import pytest
from binary_cases import broadcast_cases, expected, integer_cases
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, distinct
from op_runner import run_op


def between(*shape: int, seed: int = 0) -> Doubles:
    """Numbers that `distinct` never gives: no ties between the two."""
    return distinct(*shape, seed=seed) + 0.0125


FORMULAS = {
    "elementwise_max": np.maximum,
    "elementwise_min": np.minimum,
    "less_than": np.less,
    "less_equal": np.less_equal,
    "greater_than": np.greater,
    "greater_equal": np.greater_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
COMPARISONS = [name for name in FORMULAS if not name.startswith("elementwise")]
TWICE = distinct(3, 5)
CASES = [
    case
    for name, formula in FORMULAS.items()
    for case in (
        *broadcast_cases(name, formula, distinct, between),
        *integer_cases(name, formula),
    )
]
CASES += [
    OpCase(name, {"X": TWICE, "Y": TWICE}, expected(FORMULAS[name]), note="one twice")
    for name in COMPARISONS
]
TRUTHS = np.array([[False, True], [True, False]])
CASES += [
    OpCase(name, {"X": TRUTHS, "Y": TRUTHS[0]}, expected(FORMULAS[name]), note="bool")
    for name in ("equal", "not_equal")
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("name", ["elementwise_max", "elementwise_min"])
@pytest.mark.parametrize("value", [1.0, np.inf, -np.inf, np.nan])
def test_the_gradient_of_a_tie_goes_to_x(name: str, value: float) -> None:
    x = np.full(3, value, dtype=np.float32)
    cotangent = np.ones(3, dtype=np.float32)
    grads = run_op(f"{name}_grad", {"X": x, "Y": x.copy(), "Out@GRAD": cotangent})
    np.testing.assert_array_equal(grads["X@GRAD"], cotangent)
    np.testing.assert_array_equal(grads["Y@GRAD"], 0 * cotangent)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_stays_nan(dtype: str) -> None:
    x = np.array([np.nan, 1.0, np.nan] * 11, dtype=dtype)
    y = np.array([1.0, np.nan, np.nan] * 11, dtype=dtype)
    for name in ("elementwise_max", "elementwise_min"):
        assert np.isnan(run_op(name, {"X": x, "Y": y})["Out"]).all()
    for name in COMPARISONS:
        assert (run_op(name, {"X": x, "Y": y})["Out"] == (name == "not_equal")).all()
