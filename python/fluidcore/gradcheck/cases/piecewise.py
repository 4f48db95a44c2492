"""Functions of one number with kinks, jumps or steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np

from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Shape
from fluidcore.gradcheck.cases.table import NO_ATTRS, Attrs, Cases


class _Pieces(NamedTuple):
    """Attributes, and where the pieces meet with them.

    Attributes:
        kinks: At least 3/4 apart, and numbers of every floating type.
        attrs: Of the operator.
        at_kink: Whether gradients are checked there, too: not at a jump, nor where the gradient
            operator reads X for its slope and jumps.
    """

    kinks: tuple[float, ...]
    attrs: Attrs = NO_ATTRS
    at_kink: bool = True


def _between(data: Data, kinks: tuple[float, ...], shape: Shape, gap: float = 0.25) -> Array:
    """Numbers at least `gap` from each kink, within and beyond."""
    low, high = min(kinks) - 1, max(kinks) + 1
    x = data.uniform(low, high, *shape).astype("float64")
    for kink in kinks:
        away = x - kink
        x = np.where(np.abs(away) < gap, kink + np.copysign(gap, away), x)
    return data.cast(x)


def _piecewise(op_type: str, data: Data, *, choices: tuple[_Pieces, ...]) -> Iterator[OpExample]:
    for shape, pieces in zip(data.shapes(), cycle(choices)):
        yield OpExample(op_type, {"X": _between(data, pieces.kinks, shape)}, pieces.attrs)
    for pieces in choices:
        kinks = data.cast(np.tile(pieces.kinks, 5))
        near = data.away_from_zero(*kinks.shape) / 16
        yield OpExample(op_type, {"X": kinks + near}, pieces.attrs, note="close to the kink")
        if pieces.at_kink:
            x = _between(data, pieces.kinks, (7,))
            x[::3] = np.resize(pieces.kinks, 3)
            yield OpExample(op_type, {"X": x}, pieces.attrs, note="at the kink")


def _staircase(op_type: str, data: Data) -> Iterator[OpExample]:
    """Flat but for steps at whole numbers, or halfway between them."""
    offset = 0.5 if op_type == "round" else 0.0
    for shape in data.shapes():
        inside = data.uniform(0.25, 0.75, *shape).astype("float64")
        x = data.integers(-3, 3, *shape) + offset + inside
        yield OpExample(op_type, {"X": data.cast(x)})


def _prelu(op_type: str, data: Data) -> Iterator[OpExample]:
    for shape, alpha in zip(data.shapes(), cycle((0.25, -0.5, 1.5))):
        x = data.away_from_zero(*shape)
        yield OpExample(op_type, {"X": x, "Alpha": data.cast(np.array([alpha]))})


_ZERO = _Pieces((0.0,))
_CHOICES: dict[str, tuple[_Pieces, ...]] = {
    "relu": (_ZERO,),
    "abs": (_ZERO,),
    "sign": (_Pieces((0.0,), at_kink=False),),
    "clip": (
        _Pieces((-0.5, 0.75), {"min": -0.5, "max": 0.75}),
        _Pieces((-1.0, 1.0), {"min": -1.0, "max": 1.0}),
    ),
    "brelu": (_ZERO, _Pieces((-0.5, 0.75), {"t_min": -0.5, "t_max": 0.75})),
    "relu6": (_Pieces((0.0, 6.0)), _Pieces((0.0, 0.75), {"threshold": 0.75})),
    "leaky_relu": (_ZERO, _Pieces((0.0,), {"alpha": 0.5}), _Pieces((0.0,), {"alpha": -0.5})),
    "hard_sigmoid": (_Pieces((-2.0, 2.0), {"slope": 0.25}), _Pieces((-0.5, 0.5), {"slope": -1.0})),
    "hard_shrink": (
        _Pieces((-0.5, 0.5), at_kink=False),
        _Pieces((-0.75, 0.75), {"threshold": 0.75}, at_kink=False),
    ),
    "softshrink": (_Pieces((-0.5, 0.5)), _Pieces((-0.75, 0.75), {"lambda": 0.75})),
    "thresholded_relu": (
        _Pieces((1.0,), at_kink=False),
        _Pieces((-0.5,), {"threshold": -0.5}, at_kink=False),
    ),
    "elu": (
        _ZERO,
        _Pieces((0.0,), {"alpha": 0.25}, at_kink=False),
        _Pieces((0.0,), {"alpha": 1.5}, at_kink=False),
    ),
}
CASES: dict[str, Cases] = {
    **{name: partial(_piecewise, choices=choices) for name, choices in _CHOICES.items()},
    **dict.fromkeys(("ceil", "floor", "round"), _staircase),
    "prelu": _prelu,
}
