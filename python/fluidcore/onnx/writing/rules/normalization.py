"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore.onnx.writing.graph import Value, constant
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.rules.channels import as_before, channels_first, has_channels_last
from fluidcore.onnx.writing.shapes import (
    Extent,
    as_extent_value,
    extent,
    extents,
    filled,
    product,
    reshaped,
)


def _batch_norm(op: Op) -> None:
    is_last = has_channels_last(op, "data_layout")
    x = channels_first(op, op.input("X"), is_last)
    scale, bias, mean, variance = (op.input(s) for s in ("Scale", "Bias", "Mean", "Variance"))
    epsilon = op.attr("epsilon")
    y = op.emit("BatchNormalization", x, scale, bias, mean, variance, epsilon=epsilon)
    op.set("Y", as_before(op, y, x.rank, is_last))
    op.set("MeanOut", mean)
    op.set("VarianceOut", variance)
    op.set("SavedMean", mean)
    if op.wants("SavedVariance"):
        op.set("SavedVariance", _reciprocal_root(op, variance))


def _reciprocal_root(op: Op, variance: Value) -> Value:
    root = op.emit("Sqrt", op.emit("Add", variance, op.attr("epsilon")))
    return op.emit("Reciprocal", root)


def _scaled(op: Op, y: Value, shape: Sequence[Extent]) -> Value:
    """Y Scale + Bias, where there are these, in another shape."""
    scale, bias = op.maybe("Scale"), op.maybe("Bias")
    if scale is not None:
        y = op.emit("Mul", y, _factor(op, scale, shape))
    if bias is not None:
        y = op.emit("Add", y, _factor(op, bias, shape))
    return y


def _factor(op: Op, value: Value, shape: Sequence[Extent]) -> Value:
    return value if len(shape) == 1 else reshaped(op, value, shape)


def _layer_norm(op: Op) -> None:
    x, begin = op.input("X"), op.attr("begin_norm_axis")
    row = extents(op, x, begin)
    scale, bias = op.maybe("Scale"), op.maybe("Bias")
    inputs = [filled(op, row, x.dtype, 1) if scale is None else _factor(op, scale, row)]
    if bias is not None:
        inputs.append(_factor(op, bias, row))
    attrs = {"axis": begin, "epsilon": op.attr("epsilon")}
    op.set("Y", op.emit("LayerNormalization", x, *inputs, **attrs))
    if op.wants("Mean") or op.wants("Variance"):
        axes = list(range(begin, x.rank))
        mean = op.emit("ReduceMean", x, axes, keepdims=1)
        variance = op.emit("ReduceMean", _square(op, op.emit("Sub", x, mean)), axes, keepdims=0)
        op.set("Mean", op.emit("Reshape", mean, [-1]))
        op.set("Variance", op.emit("Reshape", variance, [-1]))


def _square(op: Op, x: Value) -> Value:
    return op.emit("Mul", x, x)


def _rms_norm(op: Op) -> None:
    x, begin = op.input("X"), op.attr("begin_norm_axis")
    axes = list(range(begin, x.rank))
    mean = op.emit("ReduceMean", _square(op, x), axes, keepdims=1)
    y = op.emit("Mul", x, _reciprocal_root(op, mean))
    op.set("Y", _scaled(op, y, extents(op, x, begin)))


def _group_norm(op: Op) -> None:
    x = op.input("X")
    groups = extent(op, x, 1) if op.type == "instance_norm" else op.attr("groups")
    grouped = _grouped(op, x, groups)
    mean = op.emit("ReduceMean", grouped, [2], keepdims=1)
    centred = op.emit("Sub", grouped, mean)
    variance = op.emit("ReduceMean", _square(op, centred), [2], keepdims=1)
    normalized = op.emit("Mul", centred, _reciprocal_root(op, variance))
    y = reshaped(op, normalized, extents(op, x))
    op.set("Y", _scaled(op, y, [extent(op, x, 1), *([1] * (x.rank - 2))]))
    if op.wants("Mean"):
        op.set("Mean", op.emit("Squeeze", mean, [2]))
    if op.wants("Variance"):
        op.set("Variance", op.emit("Squeeze", variance, [2]))


def _grouped(op: Op, x: Value, groups: Extent) -> Value:
    """The value as [N, groups, the rest]."""
    per_example = product(op, extents(op, x, 1))
    if isinstance(per_example, int) and isinstance(groups, int):
        rest: Extent = per_example // groups
    else:
        rest = op.emit("Div", as_extent_value(per_example), as_extent_value(groups))
    return reshaped(op, x, [extent(op, x, 0), groups, rest])


def _group_mean(op: Op) -> None:
    x = op.input("X")
    groups = op.attr("groups") or extent(op, x, 1)
    grouped = _grouped(op, x, groups)
    mean = op.emit("ReduceMean", grouped, [2], keepdims=1)
    same = op.emit("Expand", mean, op.emit("Shape", grouped))
    op.set("Out", reshaped(op, same, extents(op, x)))


def _norm(op: Op) -> None:
    x = op.input("X")
    total = op.emit("ReduceSumSquare", x, [1], keepdims=1)
    y = op.emit("Mul", x, _reciprocal_root(op, total))
    op.set("Out", _scaled(op, y, [extent(op, x, 1), *([1] * (x.rank - 2))]))


def _lrn(op: Op) -> None:
    x = op.input("X")
    n, k, alpha, beta = (op.attr(name) for name in ("n", "k", "alpha", "beta"))
    if n % 2 and not op.wants("MidOut"):
        op.set("Out", op.emit("LRN", x, size=n, bias=k, alpha=alpha * n, beta=beta))
        return
    total = _window_sum(op, _square(op, x), (n - 1) // 2, n - 1 - (n - 1) // 2)
    mid = op.emit("Add", op.emit("Mul", total, alpha), k)
    op.set("MidOut", mid)
    op.set("Out", op.emit("Mul", x, op.emit("Pow", mid, constant(-beta, x.dtype))))


def _channel_window_sum(op: Op) -> None:
    op.set("Out", _window_sum(op, op.input("X"), op.attr("before"), op.attr("after")))


def _window_sum(op: Op, x: Value, before: int, after: int) -> Value:
    """Sums over channels near each: the difference of two running sums would lose digits."""
    channels = extent(op, op.input("X"), 1)
    if isinstance(channels, Value):
        op.refuse(f"the number of channels must be known, got X {list(op.input('X').shape or ())}")
    before, after = min(before, channels), min(after, channels)
    rank = op.input("X").rank
    zeros = [0] * (rank - 2)
    padded = op.emit("Pad", x, [0, before, *zeros, 0, after, *zeros])
    total = None
    for first in range(before + after + 1):
        part = op.emit("Slice", padded, [first], [first + channels], [1])
        total = part if total is None else op.emit("Add", total, part)
    assert total is not None
    return total


RULES: dict[str, Rule] = {
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "instance_norm": _group_norm,
    "group_mean": _group_mean,
    "norm": _norm,
    "lrn": _lrn,
    "channel_window_sum": _channel_window_sum,
}
