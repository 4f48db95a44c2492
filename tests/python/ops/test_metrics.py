"""accuracy against NumPy."""

import numpy as np
import pytest
from op_case import OpCase, all_dtypes, check_outputs
from op_data import Doubles, integers, normal
from op_runner import Array, run_op


def accuracy(Out: Doubles, Indices: Array, Label: Array) -> dict[str, Array]:
    hits = (Indices == Label).any(axis=1)
    rate = hits.mean() if len(hits) else 0.0
    return {
        "Accuracy": np.array([rate], dtype=np.float32),
        "Correct": np.array([hits.sum()], dtype=np.int32),
        "Total": np.array([len(hits)], dtype=np.int32),
    }


CASES = [
    OpCase(
        "accuracy",
        {
            "Out": normal(rows, k),
            "Indices": integers(0, 4, rows, k),
            "Label": integers(0, 4, rows, 1, seed=1).astype(dtype),
        },
        accuracy,
        note=dtype,
    )
    for dtype in ("int64", "int32")
    for rows, k in [(1, 1), (17, 1), (257, 2), (0, 3)]
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


def test_a_label_of_another_size_is_an_error() -> None:
    message = (
        r"accuracy: Label must be \[samples, 1\] or \[samples\], "
        r"got Indices \[3, 1\], Label \[2, 1\]"
    )
    inputs = {"Out": normal(3, 1), "Indices": integers(0, 4, 3, 1), "Label": integers(0, 4, 2, 1)}
    with pytest.raises(ValueError, match=message):
        run_op("accuracy", inputs)
    inputs |= {"Label": normal(3, 1)}
    message = r"accuracy: Label must be int32 or int64, got float64; write cast\(label, 'int64'\)"
    with pytest.raises(ValueError, match=message):
        run_op("accuracy", inputs)
