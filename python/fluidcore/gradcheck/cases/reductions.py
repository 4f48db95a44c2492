"""Sums, means, maxima and normalisation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fluidcore.gradcheck.cases.example import Data, OpExample, Shape
from fluidcore.gradcheck.cases.table import Cases, row, table


# What is reduced to one number is small: the gradient of that number is a sum of random cotangents,
# and many of these may cancel to less than 16 bits can tell.
def _reduction(op_type: str, data: Data) -> Iterator[OpExample]:
    chooses = op_type in ("reduce_max", "reduce_min")
    a, b, c = data.extents(3, 2)
    for (shape,), attrs, *_ in (
        row((a, b)),
        row((), reduce_all=True),
        row((1,)),
        row((17 + a,)),  # longer than a vector register
        row((a, b), dim=1),
        row((a, b), dim=-1, keep_dim=True),
        row((a, b, c), dim=1),
        row((a, b, c), dim=-2, keep_dim=True),
        row((a, b, c), dim=[0, 2]),
        row((a, b, c), dim=[-1, 1], keep_dim=True),
        row((2, b, 2), reduce_all=True),
        row((0, b), dim=1),
    ):
        assert shape is not None
        x = data.distinct(*shape) if chooses else data.normal(*shape)
        if op_type == "reduce_prod":
            x = data.normal(*shape, scale=0.125, mean=1.0)
        yield OpExample(op_type, {"X": x}, attrs)
    if chooses:
        x = data.distinct(3, 4)
        x[1, 1:3] = 4 if op_type == "reduce_max" else -4  # of its row the outermost, twice
        yield OpExample(op_type, {"X": x}, {"dim": 1}, note="with ties")
    if op_type == "reduce_prod":
        x = data.positive(3, 4)
        x[0, 1] = x[1, 0] = x[1, 2] = 0
        yield OpExample(op_type, {"X": x}, {"dim": 1}, note="with zeros")


_CUMPROD = table(
    "X:away_from_zero",
    lambda a, b, c: [
        row((a, b)),
        row((1,), axis=0),
        row((a, b), axis=0, exclusive=True),
        row((a, b, c), axis=-2, reverse=True),
        row((0, b)),
    ],
)


def _cumprod(op_type: str, data: Data) -> Iterator[OpExample]:
    yield from _CUMPROD(op_type, data)
    x = data.away_from_zero(3, 4)
    x[0, 1] = x[1, 0] = x[1, 2] = 0
    for exclusive in (False, True):
        yield OpExample(op_type, {"X": x}, {"exclusive": exclusive}, note="with zeros")


def _linear_recurrence(op_type: str, data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, attrs in (
        ((a, b), {}),
        ((1,), {"axis": 0}),
        ((17 + a,), {"reverse": True}),
        ((a, b), {"axis": 0}),
        ((a, b, c), {"axis": -2, "reverse": True}),
        ((0, b), {}),
    ):
        inputs = {"X": data.uniform(-1, 1, *shape), "Y": data.normal(*shape)}
        yield OpExample(op_type, inputs, attrs)


_MAXOUT = table(
    "X:distinct",
    lambda a, b, c: [
        row((a, 2 * b, c, 3), groups=2),
        row((a, 3 * b), groups=3),
        row((1, 4), groups=4),
        row((a, b, c), groups=1),
        row((0, 4, b), groups=2),
    ],
)


def _maxout(op_type: str, data: Data) -> Iterator[OpExample]:
    yield from _MAXOUT(op_type, data)
    x = data.distinct(2, 4, 3)
    x[1, 2:] = 8
    yield OpExample(op_type, {"X": x}, {"groups": 2}, note="with ties")


def _batch_norm(op_type: str, data: Data) -> Iterator[OpExample]:
    n, c, height, width = data.extents(4, 2, 4)

    def case(shape: Shape, **attrs: Any) -> OpExample:
        channels = shape[-1] if attrs.get("data_layout") == "NHWC" else shape[1]
        inputs = {
            "X": data.normal(*shape, scale=2.0, mean=1.0),
            "Scale": data.positive(channels),
            "Bias": data.normal(channels),
            "Mean": data.normal(channels),
            "Variance": data.positive(channels),
        }
        return OpExample(op_type, inputs, attrs, ("X", "Scale", "Bias"))

    yield from (
        case((n + 2, c)),
        case((n + 1, c, height)),
        case((n, c, height, width)),
        case((n, height, width, c), data_layout="NHWC"),
        case((2, 1, 2, 2, 3), momentum=0.5),
        case((n, c, height, width), is_test=True),
        case((n, height, c), is_test=True, data_layout="NHWC"),
        case((n, c), is_test=True, epsilon=0.25),
        case((n + 2, c), epsilon=0.25),
    )


def _dropout(op_type: str, data: Data) -> Iterator[OpExample]:
    for number, shape in enumerate(data.shapes()):
        attrs = {"dropout_prob": data.choice([0.25, 0.5, 0.75]), "fix_seed": True}
        yield OpExample(op_type, {"X": data.normal(*shape)}, attrs | {"seed": 5 + number})
    for prob, note in ((0.0, "keeps all"), (1.0, "drops all")):
        yield OpExample(op_type, {"X": data.normal(3, 4)}, {"dropout_prob": prob}, note=note)
    yield OpExample(op_type, {"X": data.normal(3, 4)}, {"dropout_prob": 0.25, "is_test": True})


CASES: dict[str, Cases] = {
    **dict.fromkeys([f"reduce_{n}" for n in ("sum", "mean", "max", "min", "prod")], _reduction),
    "cumsum": table(
        "X",
        lambda a, b, c: [
            row((a, b)),
            row(()),
            row((1,), axis=0),
            row((17 + a,), reverse=True),
            row((a, b), axis=0, exclusive=True),
            row((a, b, c), axis=-2, exclusive=True, reverse=True),
            row((0, b)),
        ],
    ),
    "cumprod": _cumprod,
    "linear_recurrence": _linear_recurrence,
    "maxout": _maxout,
    "mean": table("X", lambda a, b: [row(s) for s in ((2, a), (), (1,), (17 + a,), (2, b, 2))]),
    "batch_norm": _batch_norm,
    "dropout": _dropout,
}
