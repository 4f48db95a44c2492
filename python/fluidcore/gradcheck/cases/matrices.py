"""Factors, solutions, inverses and determinants of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape


def _near_identity(data: Data, shape: Shape) -> Array:
    """Matrices of which rounding is not magnified."""
    near = data.uniform(-0.4, 0.4, *shape) / max(shape[-1], 1) + np.eye(shape[-1])
    return data.cast(near)


def _shapes(data: Data) -> Iterator[Shape]:
    n, batch = data.extents(2, 2)
    yield from ((n, n), (1, 1), (batch, n, n), (batch, 1, 3, 3), (0, n, n))


def _of_one(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        for shape in _shapes(data):
            yield OpExample(op_type, {"X": _near_identity(data, shape)})

    return cases


def _triangular_solve(data: Data) -> Iterator[OpExample]:
    for shape in _shapes(data):
        for upper in (True, False):
            for transpose in (True, False):
                inputs = {
                    "X": _near_identity(data, shape),
                    "Y": data.normal(*shape[:-1], data.extent()),
                }
                attrs = {"upper": upper, "transpose": transpose}
                yield OpExample("triangular_solve", inputs, attrs)
    for x, y in (((3, 3), (2, 3, 2)), ((2, 3, 3), (3, 1)), ((2, 1, 2, 2), (3, 2, 2))):
        inputs = {"X": _near_identity(data, x), "Y": data.normal(*y)}
        yield OpExample("triangular_solve", inputs, note="broadcast")
    inputs = {"X": data.uniform(-0.5, 0.5, 3, 3), "Y": data.normal(3, 2)}
    yield OpExample("triangular_solve", inputs, {"unitriangular": True})


def _matrix_transpose(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape in ((a, b), (1, 1), (c, a, b), (0, a, b)):
        yield OpExample("matrix_transpose", {"X": data.normal(*shape)})


CASES: dict[str, Callable[[Data], Iterator[OpExample]]] = {
    **{name: _of_one(name) for name in ("cholesky", "det", "inverse", "slogdet")},
    "matrix_transpose": _matrix_transpose,
    "triangular_solve": _triangular_solve,
}
