"""prelu against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, away_from_zero, normal
from op_runner import Array, run_op


def prelu(X: Array, Alpha: Array) -> dict[str, Array]:
    return {"Out": np.where(X > 0, X, Alpha.item() * X)}


CASES = [
    OpCase("prelu", {"X": away_from_zero(*shape), "Alpha": np.array(alpha)}, prelu, note=str(alpha))
    for shape in SHAPES
    for alpha in ([0.25], [-0.5], 1.5)
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_zeros_infinities_and_nan_go_where_numpy_sends_them() -> None:
    x = np.array([-np.inf, -0.0, 0.0, np.inf, np.nan])
    out = run_op("prelu", {"X": x, "Alpha": np.array([0.5])})["Out"]
    np.testing.assert_array_equal(out, [-np.inf, 0, 0, np.inf, np.nan])


def test_the_gradient_at_zero_is_alpha() -> None:
    inputs = {"X": np.zeros(3), "Alpha": np.array([0.5]), "Out@GRAD": np.ones(3)}
    grads = run_op("prelu_grad", inputs)
    np.testing.assert_array_equal(grads["X@GRAD"], np.full(3, 0.5))
    np.testing.assert_array_equal(grads["Alpha@GRAD"], [0.0])


def test_more_than_one_alpha_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"prelu: Alpha must have one element, got \[3\]"):
        run_op("prelu", {"X": normal(2, 3), "Alpha": normal(3)})


def test_an_alpha_of_another_dtype_is_an_error() -> None:
    message = (
        r"prelu: X and Alpha must have the same dtype, got X float64 \[2\], Alpha float32 \[1\]"
    )
    with pytest.raises(ValueError, match=message):
        run_op("prelu", {"X": normal(2), "Alpha": np.ones(1, dtype=np.float32)})
