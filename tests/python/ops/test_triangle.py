"""tril and triu against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, one_op, run_op


def lower(X: Array, diagonal: int = 0) -> dict[str, Array]:
    return {"Out": np.tril(X, diagonal)}


def upper(X: Array, diagonal: int = 0) -> dict[str, Array]:
    return {"Out": np.triu(X, diagonal)}


BOTH = (("tril", lower), ("triu", upper))
CASES = [
    OpCase(op_type, {"X": normal(*shape)}, formula, {"diagonal": diagonal})
    for op_type, formula in BOTH
    for shape in ((3, 5), (5, 3), (2, 4, 4), (1, 1), (0, 3), (3, 0), (2, 0, 3), (40, 50))
    for diagonal in (0, 1, -2, 2**62, -(2**62))
]
CASES += [
    OpCase(op_type, {"X": x}, formula, note=str(x.dtype))
    for op_type, formula in BOTH
    for x in (normal(3, 3) > 0, integers(1, 9, 3, 3).astype(np.int16), integers(1, 9, 3, 3))
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(("op_type", "formula"), BOTH)
def test_a_triangle_is_made_in_place(op_type: str, formula: object) -> None:
    x = normal(3, 5)
    one = one_op(op_type, {"X": x}, {}, {"Out": 0}, {"Out": "X"})
    np.testing.assert_array_equal(
        one.run(["x"])[0], lower(x)["Out"] if formula is lower else upper(x)["Out"]
    )


@pytest.mark.parametrize("op_type", ["tril", "triu"])
def test_a_vector_has_no_triangle(op_type: str) -> None:
    with pytest.raises(ValueError, match=rf"^{op_type}: X must have rank 2 or more, got \[3\]$"):
        run_op(op_type, {"X": normal(3)})
