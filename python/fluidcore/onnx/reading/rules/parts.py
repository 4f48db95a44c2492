"""Parts of tensors, and tensors with something around them."""

from __future__ import annotations

import numpy as np

from fluidcore import layers
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import (
    Result,
    Rules,
    append,
    binary,
    number_like,
    reshaped,
)

_BEYOND = 2**31 - 1  # every extent


def slice_(node: Node) -> Result:
    """A part of X, with steps that may go backwards."""
    x = node.var(0)
    rank = len(x.shape)
    if node.opset < 10:
        starts, ends = list(node.attr("starts")), list(node.attr("ends"))
        axes, steps = list(node.attr("axes", list(range(len(starts))))), [1] * len(starts)
    else:
        starts, ends = node.ints(1), node.ints(2)
        axes = node.ints(3) if node.has(3) else list(range(len(starts)))
        steps = node.ints(4) if node.has(4) else [1] * len(starts)
    axes = node.dimensions(axes, rank)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise node.refuse(
            "starts, ends, axes and steps must be as many", [starts, ends, axes, steps]
        )
    if not axes:
        return append("assign", {"X": x})
    spans = [
        _span(node, x.shape[axis], *numbers)
        for axis, numbers in zip(axes, zip(starts, ends, steps, strict=True), strict=True)
    ]
    attrs = {"axes": axes, "starts": [span[0] for span in spans], "ends": [s[1] for s in spans]}
    if all(step == 1 for step in steps):
        return append("slice", {"X": x}, attrs)
    steps = [max(min(step, _BEYOND), -_BEYOND) for step in steps]
    return append("strided_slice", {"X": x}, attrs | {"strides": steps})


def _span(node: Node, extent: int, start: int, end: int, step: int) -> tuple[int, int]:
    """The first index and that before which to stop, as ONNX puts indices outside inside.

    Where steps go backwards, a start in front of the first element is the first element; in NumPy
    and fluidcore there is nothing then.
    """
    if extent < 0:
        if step < 0 and start < -1:
            raise node.refuse(
                "the extent must be known where steps go backwards from an index that counts from "
                "the end",
                start,
            )
        return tuple(max(min(each, _BEYOND), -_BEYOND) for each in (start, end))  # type: ignore[return-value]
    start, end = (each + extent if each < 0 else each for each in (start, end))
    if step > 0:
        return max(min(start, extent), 0), max(min(end, extent), 0)
    if extent == 0:
        return 0, 0
    start, end = max(min(start, extent - 1), 0), max(min(end, extent - 1), -1)
    return start, end if end >= 0 else -_BEYOND


def pad(node: Node) -> Result:
    """X with elements around it, or with fewer."""
    x = node.var(0)
    rank = len(x.shape)
    mode = node.attr("mode")
    if node.opset < 11:
        pads, value = list(node.attr("pads")), float(node.attr("value"))
    else:
        pads = node.ints(1)
        value = node.number(2) if node.has(2) else 0.0
    axes = list(range(rank))
    if node.has(3):
        axes = node.dimensions(node.ints(3), rank)
    if len(pads) != 2 * len(axes):
        raise node.refuse(f"there must be {2 * len(axes)} paddings", pads)
    begins, ends = [0] * rank, [0] * rank
    for axis, begin, end in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        begins[axis], ends[axis] = begin, end
    cut = [i for i in range(rank) if begins[i] < 0 or ends[i] < 0]
    if cut:
        attrs = {
            "axes": cut,
            "starts": [max(-begins[i], 0) for i in cut],
            "ends": [min(ends[i], 0) or _BEYOND for i in cut],
        }
        x = append("slice", {"X": x}, attrs)
    paddings = [max(n, 0) for pair in zip(begins, ends, strict=True) for n in pair]
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise node.refuse("attribute mode must be constant, edge, reflect or wrap", repr(mode))
    return append("pad", {"X": x}, {"paddings": paddings, "pad_value": value, "mode": mode})


def nonzero(node: Node) -> Result:
    """Where X is not 0; X must be known, as the extent of the result depends on it."""
    return constant(np.array(np.nonzero(np.atleast_1d(node.constant(0)))), np.int64)


def compress(node: Node) -> Result:
    """The parts of X where a condition is true, which must be known."""
    x = node.var(0)
    chosen = np.nonzero(node.constant(1))[0]
    axis = node.attr("axis", None)
    if axis is None:
        x, axis = reshaped(x, [-1]), 0
    axis = node.dimension(axis, len(x.shape))
    index = node.as_variable(constant(chosen, np.int64))
    return append("index_select", {"X": x, "Index": index}, {"axis": axis})


def reverse_sequence(node: Node) -> Result:
    """The first elements of each example in reverse order, as many as its length says."""
    x, lengths = node.var(0), node.var(1)
    shape = node.known_shape(0)
    rank = len(shape)
    time, batch = node.attr("time_axis"), node.attr("batch_axis")
    if {time, batch} != {0, 1}:
        raise node.refuse("batch_axis and time_axis must be 0 and 1", [batch, time])
    lengths = layers.cast(lengths, "int64") if lengths.dtype != "int64" else lengths
    lengths = reshaped(lengths, [1, -1] if batch == 1 else [-1, 1])
    node.check_count(shape[time])
    steps = np.arange(shape[time]).reshape([-1, 1] if time == 0 else [1, -1])
    now = node.as_variable(constant(steps, np.int64))
    last = binary("elementwise_sub", lengths, number_like(lengths, 1))
    turned = binary("elementwise_sub", last, now)
    index = layers.where(binary("less_than", now, lengths), turned, now)
    index = reshaped(index, [*shape[:2], *[1] * (rank - 2)])
    return append("take_along_axis", {"X": x, "Index": index}, {"axis": time})


RULES: Rules = {
    "Slice": slice_,
    "Pad": pad,
    "NonZero": nonzero,
    "Compress": compress,
    "ReverseSequence": reverse_sequence,
}
