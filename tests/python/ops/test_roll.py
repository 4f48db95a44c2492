"""flip and roll against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, run_op


def flip(X: Array, axis: list[int]) -> dict[str, Array]:
    return {"Out": np.array(np.flip(X, tuple(axis)))}


def roll(X: Array, shifts: list[int], axis: list[int] | None = None) -> dict[str, Array]:
    if not axis or X.ndim == 0:
        return {"Out": np.roll(X, shifts[0])}
    return {"Out": np.roll(X, shifts, axis)}


FLIPPED: list[tuple[tuple[int, ...], list[int]]] = [
    ((), []),
    ((1,), [0]),
    ((257,), [-1]),
    ((0, 4), [0, 1]),
    ((3, 5), []),
    ((3, 5), [0]),
    ((3, 5), [1, 0]),
    ((2, 3, 7), [-1, 0]),
]
ROLLED: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((), {"shifts": [1]}),
    ((), {"shifts": [5], "axis": [-1]}),
    ((1,), {"shifts": [5], "axis": [0]}),
    ((257,), {"shifts": [-17], "axis": [0]}),
    ((257,), {"shifts": [2**63 - 1], "axis": [-1]}),
    ((0, 4), {"shifts": [1, 1], "axis": [0, 1]}),
    ((0, 4), {"shifts": [3]}),
    ((3, 5), {"shifts": [7]}),
    ((3, 5), {"shifts": [0], "axis": [-2]}),
    ((3, 5), {"shifts": [1, -2], "axis": [0, 1]}),
    ((3, 5), {"shifts": [3, 4, 3], "axis": [1, 0, 1]}),
    ((2, 3, 7), {"shifts": [1, 2], "axis": [-1, 0]}),
]
CASES = [OpCase("flip", {"X": normal(*x)}, flip, {"axis": axis}) for x, axis in FLIPPED] + [
    OpCase("roll", {"X": normal(*x)}, roll, attrs) for x, attrs in ROLLED
]
CASES += [
    OpCase(op_type, {"X": integers(0, 2, 3, 5).astype(dtype)}, function, attrs, dtype)
    for dtype in ("bool", "int16", "int32", "int64")
    for op_type, function, attrs in (
        ("flip", flip, {"axis": [1]}),
        ("roll", roll, {"shifts": [2], "axis": [1]}),
    )
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(
    ("op_type", "attrs", "message"),
    [
        ("flip", {"axis": [2]}, r"axis must be in \[-2, 2\) for an input of rank 2, got 2$"),
        (
            "flip",
            {"axis": [1, -1]},
            r"axis must name each dimension once, got \[1, -1\] for an input of rank 2$",
        ),
        (
            "roll",
            {"shifts": [1, 2], "axis": [0]},
            r"shifts must hold a number for each of axis, or one without axis, "
            r"got shifts \[1, 2\], axis \[0\]$",
        ),
        ("roll", {"shifts": []}, "shifts must hold a number for each of axis, or one without"),
        ("roll", {"shifts": [1], "axis": [-3]}, r"axis must be in \[-2, 2\) .*, got -3$"),
        ("roll", {"shifts": [-(2**63)]}, rf"shifts must have a negative, got \[-{2**63}\]$"),
    ],
)
def test_dimensions_that_there_are_not_are_an_error(
    op_type: str, attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{op_type}: {message}"):
        run_op(op_type, {"X": normal(2, 3)}, attrs)
