"""arange, linspace and eye against NumPy."""

from typing import Any

import numpy as np
import pytest
from op_case import OpCase, all_dtypes, check_outputs
from op_runner import Array, run_op

from fluidcore.base.dtypes import numpy_dtype

DTYPES = ("int16", "int32", "int64", "float16", "float32", "float64", "bfloat16")


def arange(
    end: float, start: float = 0.0, step: float = 1.0, dtype: Any = "float32"
) -> dict[str, Array]:
    return {"Out": np.arange(start, end, step).astype(numpy_dtype(dtype))}


def linspace(start: float, stop: float, num: int, dtype: Any = "float32") -> dict[str, Array]:
    return {"Out": np.linspace(start, stop, num).astype(numpy_dtype(dtype))}


def eye(num_rows: int, num_columns: int = -1, dtype: Any = "float32") -> dict[str, Array]:
    columns = None if num_columns == -1 else num_columns
    return {"Out": np.eye(num_rows, columns).astype(numpy_dtype(dtype))}


CASES = [
    OpCase("arange", {}, arange, attrs)
    for attrs in (
        {"end": 5.0},
        {"end": 0.0},
        {"end": 3.0, "start": 7.0},
        {"end": 1.0, "start": -1.0, "step": 0.25, "dtype": "float64"},
        {"end": -7.0, "start": 9.0, "step": -3.0},
        {"end": 40000.0, "dtype": "int64"},
        *({"end": 9.5, "start": -3.0, "step": 2.0, "dtype": dtype} for dtype in DTYPES),
    )
]
CASES += [
    OpCase("linspace", {}, linspace, {"start": -1.0, "stop": stop, "num": num, "dtype": dtype})
    for stop, num, dtype in (
        (2.0, 7, "float64"),
        (2.0, 7, "float32"),
        (2.0, 4, "float16"),
        (2.0, 4, "bfloat16"),
        (-3.0, 5, "float64"),
        (2.0, 1, "float64"),
        (2.0, 0, "float64"),
        (0.7, 40000, "float64"),
    )
]
CASES += [
    OpCase("eye", {}, eye, attrs)
    for attrs in (
        {"num_rows": 3},
        {"num_rows": 3, "num_columns": 5},
        {"num_rows": 5, "num_columns": 3},
        {"num_rows": 0},
        {"num_rows": 3, "num_columns": 0},
        {"num_rows": 300},
        *({"num_rows": 2, "dtype": dtype} for dtype in (*DTYPES, "bool")),
    )
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@pytest.mark.parametrize(
    ("op_type", "attrs", "message"),
    [
        (
            "arange",
            {"end": 3.0, "step": 0.0},
            "start, end and step must be finite and step not 0, got start 0.0, end 3.0, step 0.0",
        ),
        (
            "arange",
            {"end": 3.0, "step": 0.5, "dtype": "int32"},
            "step must be a whole number in the range of int32, got 0.5",
        ),
        (
            "arange",
            {"end": 40000.0, "dtype": "int16"},
            "the last number must be a whole number in the range of int16, got 39999.0",
        ),
        ("arange", {"end": 2.0, "dtype": "bool"}, "dtype must be a number's, got bool"),
        (
            "linspace",
            {"start": 0.0, "stop": 1.0, "num": -1},
            "num must be at least 0, got -1",
        ),
        (
            "linspace",
            {"start": 0.0, "stop": 1.0, "num": 2, "dtype": "int32"},
            "dtype must be floating, got int32",
        ),
        (
            "eye",
            {"num_rows": -1},
            "num_rows must be at least 0 and num_columns at least -1, got num_rows -1, "
            "num_columns -1",
        ),
    ],
)
def test_what_cannot_be_made_is_an_error(op_type: str, attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{op_type}: {message}$"):
        run_op(op_type, {}, attrs)
