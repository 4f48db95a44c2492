"""Norms of tensors, and normalisation by row, by pixel and by class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fluidcore.base.dtypes import HALF
from fluidcore.gradcheck.cases.example import Data, OpExample, Shape


# Small, as in reductions: many random cotangents may cancel to less than 16 bits can tell.
def _of_all(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        a, b = data.extents(2, 2)
        for shape in ((2, a), (), (1,), (5 + a,), (2, b, 2), (0, b)):
            yield OpExample(op_type, {"X": data.away_from_zero(*shape)})

    return cases


def _clip_by_norm(data: Data) -> Iterator[OpExample]:
    for shape in data.shapes():
        x = data.away_from_zero(*shape)
        for limit in (
            (0.125, 512.0) if x.size > 1 else (512.0,)
        ):  # one number is clipped to a constant
            yield OpExample("clip_by_norm", {"X": x}, {"max_norm": limit})


def _norm(data: Data) -> Iterator[OpExample]:
    n, c, height, width = data.extents(4, 2, 4)
    for shape in ((n, c), (n, c, height, width), (1, c, 17), (0, c)):
        for attrs in ({}, {"epsilon": 0.5}):
            inputs = {"X": data.normal(*shape), "Scale": data.positive(c)}
            yield OpExample("norm", inputs, attrs)


def _norm_of_rows(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        a, b, c = data.extents(3, 3)

        def case(
            shape: Shape, slots: str = "Scale Bias", note: str = "", **attrs: Any
        ) -> OpExample:
            columns = int(np.prod(shape[attrs.get("begin_norm_axis", 1) :]))
            factors = {"Scale": data.positive(columns), "Bias": data.normal(columns)}
            inputs = {"X": data.normal(*shape, scale=2.0, mean=1.0)}
            inputs |= {slot: factors[slot] for slot in slots.split()}
            return OpExample(op_type, inputs, attrs, note=note)

        yield from (
            case((a, b + 2)),
            case((a, b + 2), "", "no factors"),
            case((a, b + 2), "Scale", "scale only"),
            case((a, b + 2), "Bias", "bias only"),
            case((2, 17 + c)),
            case((2, a, b)),
            case((2, a, b), begin_norm_axis=2),
            case((a, b), begin_norm_axis=0),
            case((a, b), epsilon=0.25),
            case((0, b)),
        )

    return cases


def _norm_of_channels(op_type: str) -> Callable[[Data], Iterator[OpExample]]:
    def cases(data: Data) -> Iterator[OpExample]:
        n, length, width = data.extents(3, 3)

        def case(
            shape: Shape, groups: int, slots: str = "Scale Bias", note: str = "", **attrs: Any
        ) -> OpExample:
            factors = {"Scale": data.positive(shape[1]), "Bias": data.normal(shape[1])}
            inputs = {"X": data.normal(*shape, scale=2.0, mean=1.0)}
            inputs |= {slot: factors[slot] for slot in slots.split()}
            if op_type == "group_norm":
                attrs["groups"] = groups
            return OpExample(op_type, inputs, attrs, note=note)

        yield from (
            case((n, 4, length), 2),
            case((n, 4, length), 2, "", "no factors"),
            case((n, 4, length), 2, "Scale", "scale only"),
            case((n, 4, length), 2, "Bias", "bias only"),
            case((2, 3, length, width), 3, epsilon=0.25),
            case((2, 2, 3, 2, 2), 1),
            case((0, 2, length), 1),
        )

    return cases


def _group_mean(data: Data) -> Iterator[OpExample]:
    n, length = data.extents(2, 2, 4)
    for shape, groups in (((n, 4, length), 2), ((n, 2), 0), ((1, 3, 2, 2), 1), ((0, 2), 0)):
        yield OpExample("group_mean", {"X": data.normal(*shape)}, {"groups": groups})


def _log_softmax(data: Data) -> Iterator[OpExample]:
    a, b, c = data.extents(3, 2)
    for shape in ((a, b), (1,), (b,), (17,), (a, 1), (a, b, c), (0, b)):
        x = data.normal(*shape)
        yield OpExample("log_softmax", {"X": x}, is_flat=shape[-1] == 1)
    yield OpExample("log_softmax", {"X": data.normal(a, b, scale=4.0)}, note="spread")
    yield OpExample("log_softmax", {"X": data.normal(a, b, mean=64.0)}, note="large")


def _logsumexp(data: Data) -> Iterator[OpExample]:
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
        yield OpExample("logsumexp", {"X": data.normal(*shape)}, attrs)
    # The gradient is exp(X - Out): near 64 an Out of 16 bits is rounded by up to a quarter.
    mean = 4.0 if data.dtype in HALF else 64.0
    yield OpExample("logsumexp", {"X": data.normal(a, b, mean=mean)}, {"dim": 1}, note="large")


def _lrn(data: Data) -> Iterator[OpExample]:
    n, c, height, width = data.extents(4, 2, 3)
    variants: list[tuple[Shape, dict[str, Any]]] = [
        ((n, c + 4, height, 2), {"alpha": 0.5}),
        ((1, c + 3, 2, width), {"n": 4, "alpha": 0.75, "beta": 0.5, "k": 1.0}),
        ((1, c, 2, 2), {"n": 1, "alpha": 0.5, "beta": 1.5}),
        ((n, c, 1, 2), {}),
        ((0, c, 2, 2), {}),
    ]
    for shape, attrs in variants:
        yield OpExample("lrn", {"X": data.normal(*shape)}, attrs)


def _channel_window_sum(data: Data) -> Iterator[OpExample]:
    n, c = data.extents(2, 2, 4)
    for shape, attrs in (
        ((n, c, 2, 3), {"before": 1, "after": 2}),
        ((n, c), {"before": 5}),
        ((1, c + 4, 2), {"after": 1}),
        ((0, c), {"after": 1}),
    ):
        yield OpExample("channel_window_sum", {"X": data.normal(*shape)}, attrs)


CASES: dict[str, Callable[[Data], Iterator[OpExample]]] = {
    **{name: _of_all(name) for name in ("l1_norm", "squared_l2_norm")},
    "clip_by_norm": _clip_by_norm,
    "norm": _norm,
    **{name: _norm_of_rows(name) for name in ("layer_norm", "rms_norm")},
    **{name: _norm_of_channels(name) for name in ("group_norm", "instance_norm")},
    "group_mean": _group_mean,
    "lrn": _lrn,
    "channel_window_sum": _channel_window_sum,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
}
