"""lookup_table and lookup_table_v2 against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, integers, normal
from op_runner import Array, run_op


def rows(
    W: Doubles, Ids: Array, padding_idx: int = -1, is_sparse: bool = False
) -> dict[str, Array]:
    out = W[np.where(Ids == padding_idx, 0, Ids)]
    out[(Ids == padding_idx) & (padding_idx != -1)] = 0
    return {"Out": out}


def lookup(W: Doubles, Ids: Array, **attrs: Any) -> dict[str, Array]:
    return rows(W, Ids[..., 0], **attrs)


CASES = [
    OpCase("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 5, 1)}, lookup),
    OpCase("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 1)}, lookup),
    OpCase(
        "lookup_table",
        {"W": normal(7, 3), "Ids": integers(0, 7, 5, 1).astype(np.int32)},
        lookup,
        note="int32",
    ),
    OpCase(
        "lookup_table", {"W": normal(17, 5), "Ids": integers(0, 17, 257, 1)}, lookup, note="often"
    ),
    OpCase("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 2, 4, 1)}, lookup),
    OpCase("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 0, 1)}, lookup),
    OpCase("lookup_table", {"W": normal(7, 0), "Ids": integers(0, 7, 5, 1)}, lookup),
    OpCase(
        "lookup_table",
        {"W": normal(7, 3), "Ids": np.array([[2], [0], [2]])},
        lookup,
        {"padding_idx": 2},
    ),
    OpCase(
        "lookup_table", {"W": normal(7, 3), "Ids": np.array([[9], [0]])}, lookup, {"padding_idx": 9}
    ),
    OpCase(
        "lookup_table",
        {"W": normal(7, 3), "Ids": integers(0, 7, 5, 1)},
        lookup,
        {"is_sparse": True},
    ),
    *[
        OpCase("lookup_table_v2", {"W": normal(7, 3), "Ids": integers(0, 7, *shape)}, rows)
        for shape in ((), (5,), (5, 1), (2, 4), (2, 3, 1, 4), (0, 2))
    ],
    OpCase(
        "lookup_table_v2",
        {"W": normal(7, 3), "Ids": np.array([[2, 0], [2, 5]])},
        rows,
        {"padding_idx": 2, "is_sparse": True},
    ),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("bad", [7, -1, 2**40])
def test_an_index_out_of_range_is_an_error_that_names_its_place(bad: int) -> None:
    ids = np.array([[0], [bad], [3]])
    message = rf"lookup_table: Ids must be in \[0, 7\), got {bad} at position 1"
    with pytest.raises(ValueError, match=message):
        run_op("lookup_table", {"W": normal(7, 3), "Ids": ids})
    inputs = {"W": normal(7, 3), "Ids": ids, "Out@GRAD": normal(3, 3)}
    with pytest.raises(ValueError, match=message.replace("table:", "table_grad:")):
        run_op("lookup_table_grad", inputs)


def test_wrong_shapes_and_dtypes_are_errors() -> None:
    ids = integers(0, 7, 5, 1)
    with pytest.raises(ValueError, match=r"lookup_table: W must be \[rows, width\], got \[7\]"):
        run_op("lookup_table", {"W": normal(7), "Ids": ids})
    message = r"lookup_table: Ids must be int32 or int64, got float64; write cast\(ids, 'int64'\)"
    with pytest.raises(ValueError, match=message):
        run_op("lookup_table", {"W": normal(7, 3), "Ids": ids.astype(np.float64)})
    message = (
        r"lookup_table: the last extent of Ids must be 1, got \[5, 2\]; "
        "lookup_table_v2 and layers.embedding take any shape"
    )
    with pytest.raises(ValueError, match=message):
        run_op("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 5, 2)})
