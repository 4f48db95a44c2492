"""Pooling."""

from __future__ import annotations

from typing import Any

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.rules.channels import as_before, channels_first, has_channels_last
from fluidcore.onnx.writing.shapes import extents, product


def _pool(op: Op) -> None:
    is_last = has_channels_last(op)
    x = channels_first(op, op.input("X"), is_last)
    is_max = op.attr("pooling_type") == "max"
    if op.attr("global_pooling"):
        out = op.emit("GlobalMaxPool" if is_max else "GlobalAveragePool", x)
    elif op.attr("adaptive"):
        out = _adaptive(op, x, is_max)
    else:
        windows = _windows(op, x, op.attr("ceil_mode"))
        if is_max:
            out = op.emit("MaxPool", x, **windows)
        else:
            out = op.emit("AveragePool", x, count_include_pad=0, **windows)
    op.set("Out", as_before(op, out, x.rank, is_last))


def _windows(op: Op, x: Value, ceil_mode: bool) -> dict[str, Any]:
    """The attributes of windows of one size.

    With ceil_mode the padding at the end is what the last window needs, where that is known: what
    runs models does not agree on the last window.
    """
    assert x.shape is not None
    kernel, strides, pads = op.attr("ksize"), op.attr("strides"), op.attr("paddings")
    attrs = {"kernel_shape": kernel, "strides": strides}
    if not ceil_mode:
        return {**attrs, "pads": [*pads, *pads]}
    if -1 in x.shape[2:]:
        return {**attrs, "pads": [*pads, *pads], "ceil_mode": 1}
    ends = []
    for extent, size, stride, pad in zip(x.shape[2:], kernel, strides, pads, strict=True):
        count = -(-(extent + 2 * pad - size) // stride) + 1
        if (count - 1) * stride >= extent + pad:  # it would begin behind the image
            count -= 1
        ends.append(max(pad, (count - 1) * stride + size - extent - pad))
    return {**attrs, "pads": [*pads, *ends]}


def _adaptive(op: Op, x: Value, is_max: bool) -> Value:
    """Windows of about one size; axis by axis, as a window is a box."""
    assert x.shape is not None
    for axis, count in enumerate(op.attr("ksize"), start=2):
        x = _adapted_axis(op, x, axis, count, "ReduceMax" if is_max else "ReduceMean")
    return x


def _adapted_axis(op: Op, x: Value, axis: int, count: int, reduce: str) -> Value:
    assert x.shape is not None
    extent = x.shape[axis]
    if count == 1:
        return _with_extent(op.emit(reduce, x, [axis], keepdims=1), x, axis, 1)
    if extent == -1:
        op.refuse("an adaptive window must have an ONNX form, got one over an unknown extent")
    parts = []
    for i in range(count):
        start, end = i * extent // count, -(-(i + 1) * extent // count)
        part = op.emit("Slice", x, [start], [end], [axis])
        parts.append(part if end - start == 1 else op.emit(reduce, part, [axis], keepdims=1))
    return _with_extent(op.emit("Concat", *parts, axis=axis), x, axis, count)


def _with_extent(value: Value, x: Value, axis: int, extent: int) -> Value:
    assert x.shape is not None
    value.shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
    return value


def _pool_with_index(op: Op) -> None:
    x = op.input("X")
    assert x.shape is not None
    plane = x.shape[2:]
    if op.attr("global_pooling"):
        attrs: dict[str, Any] = {"kernel_shape": list(plane)}
    elif op.attr("adaptive"):
        counts = op.attr("ksize")
        sizes = [extent // count for extent, count in zip(plane, counts, strict=True)]
        if any(extent % count for extent, count in zip(plane, counts, strict=True)):
            op.refuse(
                f"adaptive windows must be of one size to have an ONNX form, got {counts} of X "
                f"{list(x.shape)}"
            )
        attrs = {"kernel_shape": sizes, "strides": sizes}
    else:
        attrs = _windows(op, x, ceil_mode=False)
    if -1 in plane and "pads" not in attrs:
        op.refuse(f"the extents of a plane must be known, got X {list(x.shape)}")
    out, index = op.emit_all("MaxPool", x, outputs=2, **attrs)
    op.set("Out", out)
    # ONNX counts in all of X.
    op.set("Mask", op.cast(op.emit("Mod", index, product(op, extents(op, x, 2))), "int32"))


RULES: dict[str, Rule] = {
    **{f"pool{axes}d": _pool for axes in (1, 2, 3)},
    **{f"max_pool{axes}d_with_index": _pool_with_index for axes in (2, 3)},
}
