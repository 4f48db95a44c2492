"""Functions of one number."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample

Numbers = Callable[..., Array]


def _smooth(op_type: str, flat_at_zero: bool = False) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        for shape in data.shapes():
            yield OpExample(op_type, {"X": data.normal(*shape)})
        yield OpExample(op_type, {"X": data.uniform(-2.5, 2.5, 9)}, note="wide")
        x = data.normal(3, 3, scale=2.0**-6)
        yield OpExample(op_type, {"X": x}, note="near zero", is_flat=flat_at_zero)

    return cases


def _positive(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        for shape in data.shapes():
            yield OpExample(op_type, {"X": data.positive(*shape)})
        yield OpExample(op_type, {"X": data.magnitudes(3, 5)}, note="of very different sizes")

    return cases


def _kinked(op_type: str, at_kink: bool = True) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        for shape in data.shapes():
            yield OpExample(op_type, {"X": data.away_from_zero(*shape)})
        yield OpExample(op_type, {"X": data.away_from_zero(9) / 16}, note="close to the kink")
        if at_kink:
            x = data.away_from_zero(7)
            x[::3] = 0
            yield OpExample(op_type, {"X": x}, note="at the kink")

    return cases


def _gelu(data: Data) -> Iterator[OpExample]:
    for shape in data.shapes():
        for attrs in ({}, {"approximate": True}):
            x = data.normal(*shape)
            x = np.abs(x) if x.size == 1 else x  # the slope is 0 at -0.75
            yield OpExample("gelu", {"X": x}, attrs)
    yield OpExample("gelu", {"X": data.uniform(-3, 3, 9)}, note="wide")


def _scale(data: Data) -> Iterator[OpExample]:
    for shape, scale in zip(data.shapes(), (1.0, -2.5, 0.375, 0.0, 3.0, 1e-3), strict=True):
        yield OpExample("scale", {"X": data.normal(*shape)}, {"scale": scale})


def _clip(data: Data) -> Iterator[OpExample]:
    limits = {"min": -0.53125, "max": 0.71875}
    for shape in data.shapes():
        yield OpExample("clip", {"X": data.distinct(*shape)}, limits)
    yield OpExample("clip", {"X": data.uniform(-0.5, 0.5, 3, 4)}, limits, note="all inside")
    yield OpExample("clip", {"X": data.uniform(1, 2, 3, 4)}, limits, note="all outside")
    x = data.distinct(9)
    yield OpExample("clip", {"X": x}, {"min": -0.25, "max": 0.25}, note="at the limits")


def _assign(data: Data) -> Iterator[OpExample]:
    for shape in data.shapes():
        yield OpExample("assign", {"X": data.normal(*shape)})


def _cast(data: Data) -> Iterator[OpExample]:
    own = data.dtype
    for shape, to in zip(data.shapes(), (own, own, "float64", "float32", own, own), strict=True):
        yield OpExample("cast", {"X": data.normal(*shape)}, {"in_dtype": own, "out_dtype": to})


def _sum(data: Data) -> Iterator[OpExample]:
    for shape in data.shapes():
        terms = [data.normal(*shape) for _ in range(data.extent(1, 4))]
        yield OpExample("sum", {"X": terms})
    x, y = data.normal(3, 5), data.normal(3, 5)
    yield OpExample("sum", {"X": [x, y, x]}, note="one variable twice")
    yield OpExample("sum", {"X": [x, np.negative(x)]}, note="that cancel")


CASES = {
    "sigmoid": _smooth("sigmoid", flat_at_zero=True),
    **{name: _smooth(name) for name in ("tanh", "exp", "sin", "cos", "square", "erf")},
    **{name: _positive(name) for name in ("log", "sqrt")},
    **{name: _kinked(name) for name in ("relu", "abs")},
    "sign": _kinked("sign", at_kink=False),
    "gelu": _gelu,
    "scale": _scale,
    "clip": _clip,
    "assign": _assign,
    "cast": _cast,
    "sum": _sum,
}
