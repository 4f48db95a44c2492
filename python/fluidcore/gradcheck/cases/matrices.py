"""Factors, solutions, inverses and determinants of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape
from fluidcore.gradcheck.cases.table import Cases, row, table


def _near_identity(data: Data, shape: Shape) -> Array:
    """Matrices of which rounding is not magnified."""
    near = data.uniform(-0.4, 0.4, *shape) / max(shape[-1], 1) + np.eye(shape[-1])
    return data.cast(near)


def _shapes(data: Data) -> Iterator[Shape]:
    n, batch = data.extents(2, 2)
    yield from ((n, n), (1, 1), (batch, n, n), (batch, 1, 3, 3), (0, n, n))


def _of_one(op_type: str, data: Data) -> Iterator[OpExample]:
    for shape in _shapes(data):
        yield OpExample(op_type, {"X": _near_identity(data, shape)})


def _triangular_solve(op_type: str, data: Data) -> Iterator[OpExample]:
    for shape, upper, transpose in product(_shapes(data), (True, False), (True, False)):
        x = _near_identity(data, shape)
        y = data.normal(*shape[:-1], data.extent())
        yield OpExample(op_type, {"X": x, "Y": y}, {"upper": upper, "transpose": transpose})
    for left, right in (((3, 3), (2, 3, 2)), ((2, 3, 3), (3, 1)), ((2, 1, 2, 2), (3, 2, 2))):
        inputs = {"X": _near_identity(data, left), "Y": data.normal(*right)}
        yield OpExample(op_type, inputs, note="broadcast")
    inputs = {"X": data.uniform(-0.5, 0.5, 3, 3), "Y": data.normal(3, 2)}
    yield OpExample(op_type, inputs, {"unitriangular": True})


CASES: dict[str, Cases] = {
    **dict.fromkeys(("cholesky", "det", "inverse", "slogdet"), _of_one),
    "matrix_transpose": table(
        "X", lambda a, b, c: [row((a, b)), row((1, 1)), row((c, a, b)), row((0, a, b))]
    ),
    "triangular_solve": _triangular_solve,
}
