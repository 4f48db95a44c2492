"""Smooth functions of one number, and sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample

Numbers = Callable[..., Array]


def smooth(
    op_type: str, *choices: dict[str, float], flat_at_zero: bool = False
) -> Callable[[Data], Iterator[OpExample]]:
    """Of a function that is smooth everywhere, with the default attributes or each of `choices`."""

    def cases(data: Data) -> Iterator[OpExample]:
        for shape, attrs in zip(data.shapes(), cycle(choices or ({},))):
            yield OpExample(op_type, {"X": data.normal(*shape)}, attrs)
        yield OpExample(op_type, {"X": data.uniform(-2.5, 2.5, 9)}, note="wide")
        x = data.normal(3, 3, scale=2.0**-6)
        yield OpExample(op_type, {"X": x}, note="near zero", is_flat=flat_at_zero)

    return cases


def _positive(op_type: str, *choices: dict[str, float]) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        for shape, attrs in zip(data.shapes(), cycle(choices or ({},))):
            yield OpExample(op_type, {"X": data.positive(*shape)}, attrs)
        yield OpExample(op_type, {"X": data.magnitudes(3, 5)}, note="of very different sizes")

    return cases


def _not_zero(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        for shape in data.shapes():
            yield OpExample(op_type, {"X": data.away_from_zero(*shape)})
        yield OpExample(op_type, {"X": -data.positive(9)}, note="negative")

    return cases


def _gate(op_type: str, *choices: dict[str, Any]) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        for shape in data.shapes():
            for attrs in choices or ({},):
                x = data.normal(*shape)
                x = np.abs(x) if x.size == 1 else x  # the slope is 0 somewhere below 0
                yield OpExample(op_type, {"X": x}, attrs)
        yield OpExample(op_type, {"X": data.uniform(-3, 3, 9)}, note="wide")

    return cases


def _scale(data: Data) -> Iterator[OpExample]:
    for shape, scale in zip(data.shapes(), (1.0, -2.5, 0.375, 0.0, 3.0, 1e-3), strict=True):
        yield OpExample("scale", {"X": data.normal(*shape)}, {"scale": scale})


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
    "sigmoid": smooth("sigmoid", flat_at_zero=True),
    "soft_relu": smooth("soft_relu", {}, {"threshold": 32.0}),
    "stanh": smooth("stanh", {}, {"scale_a": 1.5, "scale_b": -2.0}),
    **{name: _positive(name) for name in ("log", "sqrt")},
    "pow": _positive(
        "pow", {"factor": 2.0}, {"factor": -1.5}, {}, {"factor": 0.5}, {"factor": 0.0}
    ),
    **{name: _not_zero(name) for name in ("reciprocal", "tanh_shrink")},
    "gelu": _gate("gelu", {}, {"approximate": True}),
    "swish": _gate("swish", {}, {"beta": 2.5}, {"beta": -0.75}),
    **{name: _gate(name) for name in ("silu", "mish")},
    "scale": _scale,
    "assign": _assign,
    "cast": _cast,
    "sum": _sum,
}
