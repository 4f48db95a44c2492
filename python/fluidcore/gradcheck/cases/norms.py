"""Norms of tensors, and normalisation by row, by pixel and by class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fluidcore.base.dtypes import HALF
from fluidcore.gradcheck.cases.example import Data, OpExample
from fluidcore.gradcheck.cases.table import Cases, Row, row, table

# Small, as in reductions: many random cotangents may cancel to less than 16 bits can tell.
_OF_ALL = table(
    "X:away_from_zero",
    lambda a, b: [row(s) for s in ((2, a), (), (1,), (5 + a,), (2, b, 2), (0, b))],
)


def _clip_by_norm(op_type: str, data: Data) -> Iterator[OpExample]:
    for shape in data.shapes():
        x = data.away_from_zero(*shape)
        for limit in (0.125, 512.0):
            if x.size > 1 or limit > 1:  # one number is clipped to a constant
                yield OpExample(op_type, {"X": x}, {"max_norm": limit})


def _normalised(op_type: str, data: Data, rows: list[Row]) -> Iterator[OpExample]:
    """X, and the factors that a row names: all of them if it has no note."""
    slots = {"no factors": (), "scale only": ("Scale",), "bias only": ("Bias",)}
    for (shape,), attrs, note, _ in rows:
        assert shape is not None
        size = shape[1]
        if op_type in ("layer_norm", "rms_norm"):
            size = int(np.prod(shape[attrs.get("begin_norm_axis", 1) :]))
        given = {
            name: v for name, v in attrs.items() if name != "groups" or op_type == "group_norm"
        }
        factors = {"Scale": data.positive(size), "Bias": data.normal(size)}
        inputs = {"X": data.normal(*shape, scale=2.0, mean=1.0)}
        inputs |= {slot: factors[slot] for slot in slots.get(note, ("Scale", "Bias"))}
        yield OpExample(op_type, inputs, given, note=note)


def _norm_of_rows(op_type: str, data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 3)
    rows = [
        row((a, b + 2)),
        row((a, b + 2), note="no factors"),
        row((a, b + 2), note="scale only"),
        row((a, b + 2), note="bias only"),
        row((2, 17 + c)),
        row((2, a, b)),
        row((2, a, b), begin_norm_axis=2),
        row((a, b), begin_norm_axis=0),
        row((a, b), epsilon=0.25),
        row((0, b)),
    ]
    return _normalised(op_type, data, rows)


def _norm_of_channels(op_type: str, data: Data) -> Iterator[OpExample]:
    n, length, width = data.extents(3, 3)
    rows = [
        row((n, 4, length), groups=2),
        row((n, 4, length), note="no factors", groups=2),
        row((n, 4, length), note="scale only", groups=2),
        row((n, 4, length), note="bias only", groups=2),
        row((2, 3, length, width), epsilon=0.25, groups=3),
        row((2, 2, 3, 2, 2), groups=1),
        row((0, 2, length), groups=1),
    ]
    return _normalised(op_type, data, rows)


def of_classes(op_type: str, data: Data) -> Iterator[OpExample]:
    """Of softmax and log_softmax."""
    a, b, c = data.extents(3, 2)
    for shape in ((a, b), (1,), (b,), (17,), (a, 1), (a, b, c), (0, b)):
        yield OpExample(op_type, {"X": data.normal(*shape)}, is_flat=shape[-1] == 1)
    yield OpExample(op_type, {"X": data.normal(a, b, scale=4.0)}, note="spread")
    yield OpExample(op_type, {"X": data.normal(a, b, mean=64.0)}, note="large")


def _logsumexp(op_type: str, data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, attrs in (
        ((a, b), {}),
        ((), {"reduce_all": True}),
        ((17 + a,), {}),
        ((a, b), {"dim": -1, "keep_dim": True}),
        ((a, b, c), {"dim": 1}),
        ((a, b, c), {"dim": [0, 2]}),
        ((2, b, 2), {"reduce_all": True}),
        ((0, b), {"dim": 1}),
    ):
        yield OpExample(op_type, {"X": data.normal(*shape)}, attrs)
    # The gradient is exp(X - Out): near 64 an Out of 16 bits is rounded by up to a quarter.
    mean = 4.0 if data.dtype in HALF else 64.0
    yield OpExample(op_type, {"X": data.normal(a, b, mean=mean)}, {"dim": 1}, note="large")


CASES: dict[str, Cases] = {
    "l1_norm": _OF_ALL,
    "squared_l2_norm": _OF_ALL,
    "clip_by_norm": _clip_by_norm,
    "norm": table(
        "X Scale:positive",
        lambda n, c, height, width: [
            each
            for shape in ((n, c), (n, c, height, width), (1, c, 17), (0, c))
            for each in (row(shape, (c,)), row(shape, (c,), epsilon=0.5))
        ],
        most=4,
    ),
    "layer_norm": _norm_of_rows,
    "rms_norm": _norm_of_rows,
    "group_norm": _norm_of_channels,
    "instance_norm": _norm_of_channels,
    "group_mean": table(
        "X",
        lambda n, length: [
            row((n, 4, length), groups=2),
            row((n, 2), groups=0),
            row((1, 3, 2, 2), groups=1),
            row((0, 2), groups=0),
        ],
        most=4,
    ),
    "lrn": table(
        "X",
        lambda n, c, height, width: [
            row((n, c + 4, height, 2), alpha=0.5),
            row((1, c + 3, 2, width), n=4, alpha=0.75, beta=0.5, k=1.0),
            row((1, c, 2, 2), n=1, alpha=0.5, beta=1.5),
            row((n, c, 1, 2)),
            row((0, c, 2, 2)),
        ],
        most=3,
    ),
    "channel_window_sum": table(
        "X",
        lambda n, c: [
            row((n, c, 2, 3), before=1, after=2),
            row((n, c), before=5),
            row((1, c + 4, 2), after=1),
            row((0, c), after=1),
        ],
        most=4,
    ),
    "log_softmax": of_classes,
    "softmax": of_classes,
    "logsumexp": _logsumexp,
}
