"""one_hot against NumPy."""

from typing import Any

import numpy as np
import pytest
from op_case import OpCase, all_dtypes, check_outputs
from op_data import integers
from op_runner import Array, run_op

from fluidcore.base.dtypes import numpy_dtype


def one_hot(X: Array, depth: int, dtype: Any = "float32") -> dict[str, Array]:
    return {"Out": np.eye(depth)[X[..., 0] if X.ndim else X].astype(numpy_dtype(dtype))}


CASES = [
    OpCase("one_hot", {"X": integers(0, depth, *shape, 1).astype(dtype)}, one_hot, {"depth": depth})
    for shape, depth, dtype in (
        ((5,), 7, "int64"),
        ((5,), 1, "int32"),
        ((), 3, "int32"),
        ((2, 3), 4, "int64"),
        ((0,), 4, "int64"),
        ((300,), 257, "int32"),
    )
]
CASES += [OpCase("one_hot", {"X": integers(0, 4)}, one_hot, {"depth": 4})]
CASES += [
    OpCase("one_hot", {"X": np.array([[2], [0]])}, one_hot, {"depth": 3, "dtype": dtype})
    for dtype in ("bool", "int16", "int32", "int64", "float16", "float64", "bfloat16")
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@pytest.mark.parametrize("bad", [3, -1])
def test_a_number_out_of_range_is_an_error_that_names_its_place(bad: int) -> None:
    message = rf"^one_hot: X must be in \[0, 3\), got {bad} at position 1"
    with pytest.raises(ValueError, match=message):
        run_op("one_hot", {"X": np.array([[0], [bad]])}, {"depth": 3})


@pytest.mark.parametrize(
    ("x", "depth", "message"),
    [
        (np.zeros((2, 2), np.int64), 3, r"the last extent of X must be 1, got \[2, 2\]"),
        (np.zeros((2, 1), np.int64), 0, "depth must be at least 1, got 0"),
        (np.zeros((2, 1)), 3, r"X must be int32 or int64, got float64; write cast\(x, 'int64'\)"),
    ],
)
def test_what_does_not_fit_is_an_error(x: Array, depth: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^one_hot: {message}$"):
        run_op("one_hot", {"X": x}, {"depth": depth})
