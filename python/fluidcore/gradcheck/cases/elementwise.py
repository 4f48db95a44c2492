"""Functions of two numbers, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape
from fluidcore.gradcheck.cases.table import Cases

Pair = Callable[[Data, Shape, Shape], tuple[Array, Array]]


def _shapes(data: Data) -> Iterator[tuple[Shape, Shape, int]]:
    """X, Y and the axis: equal, rank 0, empty, one element, a run of dimensions, as in NumPy."""
    a, b, c = data.extents(3, 2)
    yield from (
        ((a, b), (a, b), -1),
        ((), (), -1),
        ((2, b), (), -1),  # few terms: the gradient of Y is their sum, and may cancel
        ((0, b), (b,), -1),
        ((a, 2), (1,), 0),
        ((17 + a,), (17 + a,), -1),
        ((a, b), (b,), -1),
        ((a, b, c), (a,), 0),
        ((a, b, c), (b,), 1),
        ((2, a, b, c), (a, b), 1),
        ((a, 1, c), (b, 1), -1),
        ((b,), (a, b), -1),
    )


def _normal(data: Data, x: Shape, y: Shape) -> tuple[Array, Array]:
    return data.normal(*x), data.normal(*y)


def _quotient(data: Data, x: Shape, y: Shape) -> tuple[Array, Array]:
    return data.normal(*x), data.cast(data.away_from_zero(*y).astype("float64") * 2)


def _power(data: Data, x: Shape, y: Shape) -> tuple[Array, Array]:
    return data.positive(*x), data.uniform(-2, 2, *y)


def _apart(data: Data, x: Shape, y: Shape) -> tuple[Array, Array]:
    return data.distinct(*x), data.distinct(*y, offset=1 / 16)


def _between_whole(data: Data, x: Shape, y: Shape) -> tuple[Array, Array]:
    """Quotients at least 1/4 from a whole number."""
    divisor = 2 * np.sign(data.away_from_zero(*y).astype("float64"))
    odd = 2 * data.integers(-1, 1, *x) + 1
    return data.cast(odd + data.uniform(-0.5, 0.5, *x).astype("float64")), data.cast(divisor)


def _pairs(op_type: str, data: Data, *, pair: Pair) -> Iterator[OpExample]:
    for x_shape, y_shape, axis in _shapes(data):
        x, y = pair(data, x_shape, y_shape)
        attrs = {} if axis == -1 else {"axis": axis}
        yield OpExample(op_type, {"X": x, "Y": y}, attrs)
    if pair is not _between_whole:
        x = data.positive(3, 5)
        yield OpExample(op_type, {"X": x, "Y": x}, note="one variable twice")
    if pair is _apart:
        x, y = _apart(data, (9,), (9,))
        y[::4] = x[::4]
        yield OpExample(op_type, {"X": x, "Y": y}, note="with ties")


_PAIRS: dict[str, Pair] = {
    "add": _normal,
    "sub": _normal,
    "mul": _normal,
    "div": _quotient,
    "floordiv": _between_whole,
    "mod": _between_whole,
    "pow": _power,
    "max": _apart,
    "min": _apart,
}
CASES: dict[str, Cases] = {
    f"elementwise_{name}": partial(_pairs, pair=pair) for name, pair in _PAIRS.items()
}
