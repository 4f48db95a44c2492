"""Functions of two numbers, with broadcasting, and counters."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape

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


def _pairs(op_type: str, pair: Pair) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        for x_shape, y_shape, axis in _shapes(data):
            x, y = pair(data, x_shape, y_shape)
            attrs = {} if axis == -1 else {"axis": axis}
            yield OpExample(op_type, {"X": x, "Y": y}, attrs)
        if pair is not _between_whole:
            x = data.positive(3, 5)
            yield OpExample(op_type, {"X": x, "Y": x}, note="one variable twice")

    return cases


def _extremes(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        yield from _pairs(op_type, _apart)(data)
        x, y = _apart(data, (9,), (9,))
        y[::4] = x[::4]
        yield OpExample(op_type, {"X": x, "Y": y}, note="with ties")

    return cases


def _minus(data: Data) -> Iterator[OpExample]:
    for shape in data.shapes():
        yield OpExample("minus", {"X": data.normal(*shape), "Y": data.normal(*shape)})


def _increment(data: Data) -> Iterator[OpExample]:
    for shape, step in (((1,), 1.0), ((), -0.25), ((1, 1), 3.0)):
        yield OpExample("increment", {"X": data.normal(*shape)}, {"step": step})


CASES = {
    "increment": _increment,
    **{f"elementwise_{name}": _pairs(f"elementwise_{name}", _normal) for name in ("add", "sub")},
    "elementwise_mul": _pairs("elementwise_mul", _normal),
    "elementwise_div": _pairs("elementwise_div", _quotient),
    **{
        f"elementwise_{name}": _pairs(f"elementwise_{name}", _between_whole)
        for name in ("floordiv", "mod")
    },
    "minus": _minus,
    "elementwise_pow": _pairs("elementwise_pow", _power),
    "elementwise_max": _extremes("elementwise_max"),
    "elementwise_min": _extremes("elementwise_min"),
}
