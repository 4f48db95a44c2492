"""What operators of two arguments, with broadcasting, have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from op_case import OpCase
from op_data import integers
from op_runner import Array

Formula = Callable[[Any, Any], Any]
Data = Callable[..., Array]

# X, Y, axis: equal, rank 0, empty, one element, run of dimensions, as NumPy, odd
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((3, 5), (3, 5), -1),
    ((), (), -1),
    ((2, 3), (), -1),
    ((0, 4), (0, 4), -1),
    ((0, 4), (4,), -1),
    ((2, 3), (1,), -1),
    ((2, 3), (1,), 0),
    ((257,), (257,), -1),
    ((3, 17), (17,), -1),
    ((2, 3, 4, 5), (3, 4), 1),
    ((2, 3, 4), (2,), 0),
    ((2, 3, 4), (3, 4), 1),
    ((4, 1, 3), (5, 1), -1),
    ((3,), (2, 3), -1),
    ((2, 1), (1, 3), -1),
]


def expected(formula: Formula) -> Callable[..., dict[str, Array]]:
    """The NumPy function of an OpCase; `axis` says where Y's dimensions begin in X."""

    def out(X: Array, Y: Array, axis: int = -1) -> dict[str, Array]:
        if axis >= 0 and Y.shape != (1,):
            Y = Y.reshape(Y.shape + (1,) * (X.ndim - axis - Y.ndim))
        return {"Out": np.asarray(formula(X, Y))}

    return out


def broadcast_cases(op_type: str, formula: Formula, x_data: Data, y_data: Data) -> list[OpCase]:
    """A case for each of SHAPES."""
    return [
        OpCase(
            op_type,
            {"X": x_data(*x), "Y": y_data(*y, seed=1)},
            expected(formula),
            {} if axis == -1 else {"axis": axis},
        )
        for x, y, axis in SHAPES
    ]


def integer_cases(op_type: str, formula: Formula) -> list[OpCase]:
    """int32 and int64, with Y broadcast."""
    x, y = integers(-9, 9, 3, 4), integers(1, 9, 4)
    return [
        OpCase(op_type, {"X": x.astype(dtype), "Y": y.astype(dtype)}, expected(formula), note=dtype)
        for dtype in ("int32", "int64")
    ]
