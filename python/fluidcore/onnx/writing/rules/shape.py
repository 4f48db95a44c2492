"""Operators that put elements in another shape or order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import (
    Extent,
    as_extent_value,
    extent,
    extents,
    matrix,
    product,
    reshaped,
    transposed,
)


def _assign(op: Op) -> None:
    op.set("Out", op.input("X"))


def _cast(op: Op) -> None:
    x, dtype = op.input("X"), op.declared("Out").dtype
    op.set("Out", op.cast(x, dtype) if x.dtype != dtype else op.emit("Identity", x))


def _reshape(op: Op) -> None:
    x, shape = op.input("X"), op.maybe("Shape")
    if shape is not None:
        said = op.attr("shape")
        target = op.emit("Reshape", op.cast(shape, "int64"), [len(said)])
        op.set("Out", op.emit("Reshape", x, target, allowzero=1))
        return
    said = op.attr("shape")
    has_zero = 0 in said
    if has_zero and -1 in said:
        said = op.declared("Out").shape  # of nothing
    op.set("Out", op.emit("Reshape", x, list(said), **({"allowzero": 1} if has_zero else {})))


def _flatten(op: Op) -> None:
    op.set("Out", matrix(op, op.input("X"), op.attr("axis")))


def _squeeze(op: Op) -> None:
    x = op.input("X")
    assert x.shape is not None
    axes = op.attr("axes") or [i for i, each in enumerate(x.shape) if each == 1]
    if not axes:
        op.set("Out", op.emit("Identity", x))
        return
    op.set("Out", op.emit("Squeeze", x, sorted({axis % x.rank for axis in axes})))


def _unsqueeze(op: Op) -> None:
    op.set("Out", op.emit("Unsqueeze", op.input("X"), op.attr("axes")))


def _transpose(op: Op) -> None:
    op.set("Out", transposed(op, op.input("X"), op.attr("axis")))


def _matrix_transpose(op: Op) -> None:
    x = op.input("X")
    axes = list(range(x.rank))
    op.set("Out", transposed(op, x, [*axes[:-2], axes[-1], axes[-2]]))


def _concat(op: Op) -> None:
    op.set("Out", op.emit("Concat", *op.inputs("X"), axis=op.attr("axis")))


def _stack(op: Op) -> None:
    values = op.inputs("X")
    axis = op.attr("axis") % (values[0].rank + 1)
    parts = [op.emit("Unsqueeze", value, [axis]) for value in values]
    op.set("Y", op.emit("Concat", *parts, axis=axis))


def _split(op: Op) -> None:
    x, axis = op.input("X"), op.attr("axis")
    count = len(op.output_names("Out"))
    sections = op.attr("sections")
    if sections:
        op.set_all("Out", op.emit_all("Split", x, sections, axis=axis, outputs=count))
    else:
        op.set_all("Out", op.emit_all("Split", x, axis=axis, num_outputs=count, outputs=count))


def _unstack(op: Op) -> None:
    x, axis = op.input("X"), op.attr("axis")
    count = len(op.output_names("Y"))
    parts = op.emit_all("Split", x, axis=axis, num_outputs=count, outputs=count)
    op.set_all("Y", [op.emit("Squeeze", part, [axis]) for part in parts])


def _expand(op: Op) -> None:
    x = op.input("X")
    op.set("Out", _repeated(op, x, op.attr("expand_times")))


def _tile(op: Op) -> None:
    x, times = op.input("X"), list(op.attr("repeat_times"))
    more = len(times) - x.rank
    if more > 0:
        x = op.emit("Unsqueeze", x, list(range(more)))
    op.set("Out", _repeated(op, x, [1] * -more + times))


def _repeated(op: Op, x: Value, times: Sequence[int]) -> Value:
    return op.emit("Tile", x, list(times)) if times else op.emit("Identity", x)


def _broadcast_to(op: Op) -> None:
    x, shape = op.input("X"), list(op.attr("shape"))
    op.set("Out", op.emit("Expand", x, [1 if each == -1 else each for each in shape]))


def _pad(op: Op) -> None:
    x, paddings, mode = op.input("X"), op.attr("paddings"), op.attr("mode")
    pads = [*paddings[::2], *paddings[1::2]]
    if not any(pads):
        op.set("Out", op.emit("Identity", x))
    elif mode != "constant":
        for axis in range(x.rank):
            x = _padded_axis(op, x, axis, paddings[2 * axis : 2 * axis + 2])
        op.set("Out", x)
    else:
        op.set("Out", op.emit("Pad", x, pads, op.attr("pad_value"), mode=mode))


def _padded_axis(op: Op, x: Value, axis: int, pads: Sequence[int]) -> Value:
    """With elements of its own around it; as often as it takes, where its extent is known."""
    mode, count = op.attr("mode"), extent(op, x, axis)
    if not any(pads):
        return x
    if isinstance(count, int):
        index = np.pad(np.arange(count), tuple(pads), mode=mode)
        made = op.emit("Gather", x, index, axis=axis)
    else:
        made = op.emit("Pad", x, pads, None, [axis], mode=mode)
    assert x.shape is not None
    made.shape = (*x.shape[:axis], -1, *x.shape[axis + 1 :])
    return made


def _pixel_shuffle(op: Op) -> None:
    size = op.attr("upscale_factor")
    op.set("Out", op.emit("DepthToSpace", op.input("X"), blocksize=size, mode="CRD"))


def _roll(op: Op) -> None:
    x, axes = op.input("X"), op.attr("axis")
    if not axes:
        flat = op.emit("Reshape", x, [-1])
        rolled = _rolled(op, flat, product(op, extents(op, x)), sum(op.attr("shifts")), 0)
        op.set("Out", reshaped(op, rolled, extents(op, x)))
        return
    out = x
    if not x.rank:
        op.set("Out", op.emit("Identity", x))
        return
    for axis, shift in zip(axes, op.attr("shifts"), strict=True):
        out = _rolled(op, out, extent(op, x, axis), shift, axis)
    op.set("Out", out)


def _rolled(op: Op, x: Value, count: Extent, shift: int, axis: int) -> Value:
    """Along one dimension of so many elements."""
    if isinstance(count, int):
        moved = shift % count if count else 0
        if not moved:
            return op.emit("Identity", x)
        begin: Value | list[int] = [count - moved]
    else:
        divisor = op.emit("Max", count, 1)
        begin = op.emit("Sub", count, op.emit("Mod", shift, divisor))
    behind = op.emit("Slice", x, begin, as_extent_value(count), [axis])
    return op.emit("Concat", behind, op.emit("Slice", x, [0], begin, [axis]), axis=axis)


def _triangle(upper: int) -> Rule:
    def rule(op: Op) -> None:
        op.set("Out", op.emit("Trilu", op.input("X"), op.attr("diagonal"), upper=upper))

    return rule


def _maxout(op: Op) -> None:
    x, groups = op.input("X"), op.attr("groups")
    batch, channels, *rest = extents(op, x)
    if isinstance(channels, int):
        fewer: Extent = channels // groups
    else:
        fewer = op.emit("Div", channels, groups)
    parts = reshaped(op, x, [batch, fewer, groups, *rest])
    op.set("Out", op.emit("ReduceMax", parts, [2], keepdims=0))


def _feed(op: Op) -> None:
    """What is fed is there already."""
    del op


RULES: dict[str, Rule] = {
    "feed": _feed,
    "fetch": _assign,
    "assign": _assign,
    "cast": _cast,
    "reshape": _reshape,
    "flatten": _flatten,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "transpose": _transpose,
    "matrix_transpose": _matrix_transpose,
    "concat": _concat,
    "stack": _stack,
    "split": _split,
    "unstack": _unstack,
    "expand": _expand,
    "tile": _tile,
    "broadcast_to": _broadcast_to,
    "pad": _pad,
    "pixel_shuffle": _pixel_shuffle,
    "roll": _roll,
    "tril": _triangle(0),
    "triu": _triangle(1),
    "maxout": _maxout,
}
