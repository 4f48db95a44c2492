"""Sums, means, maxima and normalisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fluidcore.gradcheck.cases.example import Data, OpExample, Shape


# What is reduced to one number is small: the gradient of that number is a sum of random cotangents,
# and many of these may cancel to less than 16 bits can tell.
def _reduction(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    chooses = op_type in ("reduce_max", "reduce_min")

    def case(data: Data, shape: Shape, **attrs: Any) -> OpExample:
        x = data.distinct(*shape) if chooses else data.normal(*shape)
        if op_type == "reduce_prod":
            x = data.normal(*shape, scale=0.125, mean=1.0)
        return OpExample(op_type, {"X": x}, attrs)

    def cases(data: Data) -> Iterator[OpExample]:
        a, b, c = data.extents(3, 2)
        yield from (
            case(data, (a, b)),
            case(data, (), reduce_all=True),
            case(data, (1,)),
            case(data, (17 + a,)),  # longer than a vector register
            case(data, (a, b), dim=1),
            case(data, (a, b), dim=-1, keep_dim=True),
            case(data, (a, b, c), dim=1),
            case(data, (a, b, c), dim=-2, keep_dim=True),
            case(data, (a, b, c), dim=[0, 2]),
            case(data, (a, b, c), dim=[-1, 1], keep_dim=True),
            case(data, (2, b, 2), reduce_all=True),
            case(data, (0, b), dim=1),
        )
        if chooses:
            x = data.distinct(3, 4)
            x[1, 1:3] = 4 if op_type == "reduce_max" else -4  # of its row the outermost, twice
            yield OpExample(op_type, {"X": x}, {"dim": 1}, note="with ties")
        if op_type == "reduce_prod":
            x = data.positive(3, 4)
            x[0, 1] = x[1, 0] = x[1, 2] = 0
            yield OpExample(op_type, {"X": x}, {"dim": 1}, note="with zeros")

    return cases


def _cumsum(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, attrs in (
        ((a, b), {}),
        ((), {}),
        ((1,), {"axis": 0}),
        ((17 + a,), {"reverse": True}),
        ((a, b), {"axis": 0, "exclusive": True}),
        ((a, b, c), {"axis": -2, "exclusive": True, "reverse": True}),
        ((0, b), {}),
    ):
        yield OpExample("cumsum", {"X": data.normal(*shape)}, attrs)


def _cumprod(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, attrs in (
        ((a, b), {}),
        ((1,), {"axis": 0}),
        ((a, b), {"axis": 0, "exclusive": True}),
        ((a, b, c), {"axis": -2, "reverse": True}),
        ((0, b), {}),
    ):
        yield OpExample("cumprod", {"X": data.away_from_zero(*shape)}, attrs)
    x = data.away_from_zero(3, 4)
    x[0, 1] = x[1, 0] = x[1, 2] = 0
    for exclusive in (False, True):
        yield OpExample("cumprod", {"X": x}, {"exclusive": exclusive}, note="with zeros")


def _linear_recurrence(data: Data) -> Iterator[OpExample]:
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
        yield OpExample("linear_recurrence", inputs, attrs)


def _maxout(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape, groups in (
        ((a, 2 * b, c, 3), 2),
        ((a, 3 * b), 3),
        ((1, 4), 4),
        ((a, b, c), 1),
        ((0, 4, b), 2),
    ):
        yield OpExample("maxout", {"X": data.distinct(*shape)}, {"groups": groups})
    x = data.distinct(2, 4, 3)
    x[1, 2:] = 8
    yield OpExample("maxout", {"X": x}, {"groups": 2}, note="with ties")


def _mean(data: Data) -> Iterator[OpExample]:
    a, b = data.extents(2, 2)
    for shape in ((2, a), (), (1,), (17 + a,), (2, b, 2)):
        yield OpExample("mean", {"X": data.normal(*shape)})


def _softmax(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape in ((a, b), (1,), (b,), (17,), (a, 1), (a, b, c), (0, b)):
        yield OpExample("softmax", {"X": data.normal(*shape)}, is_flat=shape[-1] == 1)
    yield OpExample("softmax", {"X": data.normal(a, b, scale=4.0)}, note="spread")
    yield OpExample("softmax", {"X": data.normal(a, b, mean=64.0)}, note="large")


def _batch_norm(data: Data) -> Iterator[OpExample]:
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
        return OpExample("batch_norm", inputs, attrs, ("X", "Scale", "Bias"))

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


def _dropout(data: Data) -> Iterator[OpExample]:
    for number, shape in enumerate(data.shapes()):
        attrs = {"dropout_prob": data.choice([0.25, 0.5, 0.75]), "fix_seed": True}
        yield OpExample("dropout", {"X": data.normal(*shape)}, attrs | {"seed": 5 + number})
    for prob, note in ((0.0, "keeps all"), (1.0, "drops all")):
        yield OpExample("dropout", {"X": data.normal(3, 4)}, {"dropout_prob": prob}, note=note)
    yield OpExample("dropout", {"X": data.normal(3, 4)}, {"dropout_prob": 0.25, "is_test": True})


CASES = {
    **{
        f"reduce_{name}": _reduction(f"reduce_{name}")
        for name in ("sum", "mean", "max", "min", "prod")
    },
    "cumsum": _cumsum,
    "cumprod": _cumprod,
    "linear_recurrence": _linear_recurrence,
    "maxout": _maxout,
    "mean": _mean,
    "softmax": _softmax,
    "batch_norm": _batch_norm,
    "dropout": _dropout,
}
