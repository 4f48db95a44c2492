"""Smooth functions of one number, and sums."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from fluidcore.gradcheck.cases.example import Data, OpExample
from fluidcore.gradcheck.cases.table import Attrs, Cases, each_shape, row, table


def smooth(
    op_type: str, data: Data, *, choices: tuple[Attrs, ...] = (), flat_at_zero: bool = False
) -> Iterator[OpExample]:
    """Of a function that is smooth everywhere, with the default attributes or each of `choices`."""
    yield from each_shape(op_type, data, choices=choices)
    yield OpExample(op_type, {"X": data.uniform(-2.5, 2.5, 9)}, note="wide")
    x = data.normal(3, 3, scale=2.0**-6)
    yield OpExample(op_type, {"X": x}, note="near zero", is_flat=flat_at_zero)


def _positive(op_type: str, data: Data, *, choices: tuple[Attrs, ...] = ()) -> Iterator[OpExample]:
    yield from each_shape(op_type, data, "X:positive", choices)
    yield OpExample(op_type, {"X": data.magnitudes(3, 5)}, note="of very different sizes")


def _not_zero(op_type: str, data: Data) -> Iterator[OpExample]:
    yield from each_shape(op_type, data, "X:away_from_zero")
    yield OpExample(op_type, {"X": -data.positive(9)}, note="negative")


def _gate(op_type: str, data: Data, *, choices: tuple[Attrs, ...] = ({},)) -> Iterator[OpExample]:
    for shape in data.shapes():
        for attrs in choices:
            x = data.normal(*shape)
            x = np.abs(x) if x.size == 1 else x  # the slope is 0 somewhere below 0
            yield OpExample(op_type, {"X": x}, attrs)
    yield OpExample(op_type, {"X": data.uniform(-3, 3, 9)}, note="wide")


def _cast(op_type: str, data: Data) -> Iterator[OpExample]:
    own = data.dtype
    choices = ({"in_dtype": own, "out_dtype": to} for to in (own, own, "float64", "float32", own))
    return each_shape(op_type, data, choices=choices)


def _sum(op_type: str, data: Data) -> Iterator[OpExample]:
    for shape in data.shapes():
        terms = [data.normal(*shape) for _ in range(data.extent(1, 4))]
        yield OpExample(op_type, {"X": terms})
    x, y = data.normal(3, 5), data.normal(3, 5)
    yield OpExample(op_type, {"X": [x, y, x]}, note="one variable twice")
    yield OpExample(op_type, {"X": [x, np.negative(x)]}, note="that cancel")


_SCALES = (1.0, -2.5, 0.375, 0.0, 3.0, 1e-3)
_FACTORS: tuple[Attrs, ...] = (
    {"factor": 2.0},
    {"factor": -1.5},
    {},
    {"factor": 0.5},
    {"factor": 0.0},
)
CASES: dict[str, Cases] = {
    "sigmoid": partial(smooth, flat_at_zero=True),
    "soft_relu": partial(smooth, choices=({}, {"threshold": 32.0})),
    "stanh": partial(smooth, choices=({}, {"scale_a": 1.5, "scale_b": -2.0})),
    "log": _positive,
    "sqrt": _positive,
    "pow": partial(_positive, choices=_FACTORS),
    "reciprocal": _not_zero,
    "tanh_shrink": _not_zero,
    "gelu": partial(_gate, choices=({}, {"approximate": True})),
    "swish": partial(_gate, choices=({}, {"beta": 2.5}, {"beta": -0.75})),
    "silu": _gate,
    "mish": _gate,
    "scale": partial(each_shape, choices=[{"scale": scale} for scale in _SCALES]),
    "assign": each_shape,
    "cast": _cast,
    "sum": _sum,
    "minus": partial(each_shape, slots="X Y"),
    "increment": table(
        "X", lambda: [row((1,), step=1.0), row((), step=-0.25), row((1, 1), step=3.0)]
    ),
}
