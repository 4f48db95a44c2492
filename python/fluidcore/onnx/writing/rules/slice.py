"""Parts of tensors."""

from __future__ import annotations

from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import as_value, extents

_BEFORE_ALL = -(2**63) + 1  # the end of a slice that runs backwards to the first element


def _slice(op: Op) -> None:
    x, axes = op.input("X"), op.attr("axes")
    if not axes:
        op.set("Out", op.emit("Identity", x))
        return
    strides = [op.attr("strides")] if op.type == "strided_slice" else []
    op.set("Out", op.emit("Slice", x, op.attr("starts"), op.attr("ends"), axes, *strides))


def _flip(op: Op) -> None:
    x, axes = op.input("X"), op.attr("axis")
    count = len(axes)
    if not count:
        op.set("Out", op.emit("Identity", x))
        return
    ends, steps = [_BEFORE_ALL] * count, [-1] * count
    op.set("Out", op.emit("Slice", x, [-1] * count, ends, axes, steps))


def _crop(op: Op) -> None:
    x, y, offsets = op.input("X"), op.maybe("Y"), op.attr("offsets")
    if not offsets:
        op.set("Out", op.emit("Identity", x))
        return
    axes = list(range(x.rank))
    shape = op.attr("shape") if y is None else as_value(op, extents(op, y))
    if isinstance(shape, list):
        if -1 in shape:
            op.refuse(f"the shape must be known, got {shape}; give it by Y")
        ends = [first + count for first, count in zip(offsets, shape, strict=True)]
        op.set("Out", op.emit("Slice", x, offsets, ends, axes))
    else:
        op.set("Out", op.emit("Slice", x, offsets, op.emit("Add", shape, offsets), axes))


RULES: dict[str, Rule] = {
    "slice": _slice,
    "strided_slice": _slice,
    "flip": _flip,
    "crop": _crop,
}
