"""Elements and parts at places that indices name, and parts of tensors by numbers."""

from __future__ import annotations

import math

import numpy as np

from fluidcore import layers
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import (
    Result,
    Rule,
    Rules,
    append,
    axis_last,
    binary,
    number_like,
    reshaped,
    transposed,
)
from fluidcore.onnx.reading.values import Constant
from fluidcore.program import Variable


def counted_from_front(node: Node, index: int, extent: int) -> Variable:
    """Indices of which some may count from the end."""
    value = node.value(index)
    if isinstance(value, Constant) and extent >= 0:
        array = value.array
        if array.size and not (-extent <= array.min() and array.max() < extent):
            raise node.refuse(
                f"indices must be in [{-extent}, {extent})", [int(array.min()), int(array.max())]
            )
        return node.as_variable(constant(np.where(array < 0, array + extent, array), array.dtype))
    places = node.var(index)
    if extent < 0:
        return places  # those from the end are then errors of the run
    behind = binary("elementwise_add", places, number_like(places, extent))
    return layers.where(layers.less_than(places, number_like(places, 0)), behind, places)


def gather(node: Node) -> Result:
    """The parts of X that indices name along an axis."""
    x = node.var(0)
    axis = node.axis("axis", len(x.shape))
    index = counted_from_front(node, 1, x.shape[axis])
    shape = index.shape
    if len(shape) <= 1:
        return append("index_select", {"X": x, "Index": index}, {"axis": axis})
    if shape.count(-1) > 1 or (-1 in shape and -1 in x.shape[:axis] + x.shape[axis + 1 :]):
        raise node.refuse("at most one extent may be open", [list(shape), list(x.shape)])
    flat = append("index_select", {"X": x, "Index": reshaped(index, [-1])}, {"axis": axis})
    return reshaped(flat, [*x.shape[:axis], *shape, *x.shape[axis + 1 :]])


def gather_elements(node: Node) -> Result:
    """For each index the element at it along an axis."""
    x = node.var(0)
    axis = node.axis("axis", len(x.shape))
    index = counted_from_front(node, 1, x.shape[axis])
    axes = [i for i in range(len(x.shape)) if i != axis and x.shape[i] != index.shape[i]]
    if any(-1 in (x.shape[i], index.shape[i]) for i in axes):
        raise node.refuse("extents beside the axis must be known", [x.shape, index.shape])
    if axes:  # indices may be fewer; take_along_axis would broadcast
        ends = [index.shape[i] for i in axes]
        attrs = {"axes": axes, "starts": [0] * len(axes), "ends": ends}
        x = append("slice", {"X": x}, attrs)
    return append("take_along_axis", {"X": x, "Index": index}, {"axis": axis})


def _positions(node: Node, x: Variable, index: int) -> Variable:
    """Indices [..., K] of the first K dimensions of X, counted from the front."""
    value = node.value(index)
    depth = node.shape(index)[-1]
    if depth < 0 or depth > len(x.shape):
        raise node.refuse(f"the last extent must be at most {len(x.shape)}", depth)
    extents = np.array(x.shape[:depth])
    if isinstance(value, Constant) and -1 not in extents:
        array = value.array
        return node.as_variable(constant(np.where(array < 0, array + extents, array), array.dtype))
    places = node.var(index)
    if -1 in extents:
        return places
    offset = node.as_variable(constant(extents, places.dtype))
    behind = binary("elementwise_add", places, offset)
    return layers.where(layers.less_than(places, number_like(places, 0)), behind, places)


def gather_nd(node: Node) -> Result:
    """The parts of X at positions; with batch dimensions, those of the same batch."""
    x = node.var(0)
    batch = node.attr("batch_dims", 0)
    if not batch:
        return append("gather_nd", {"X": x, "Index": _positions(node, x, 1)})
    shape = node.known_shape(1)
    node.check_count(math.prod(shape[:-1]) * len(shape))
    grid = np.indices(shape[:-1])[:batch]
    own = node.var(1)
    extents = node.as_variable(constant(x.shape[batch : batch + shape[-1]], own.dtype))
    behind = binary("elementwise_add", own, extents)
    own = layers.where(layers.less_than(own, number_like(own, 0)), behind, own)
    around = node.as_variable(constant(np.moveaxis(grid, 0, -1), own.dtype))
    places = append("concat", {"X": [around, own]}, {"axis": len(shape) - 1})
    return append("gather_nd", {"X": x, "Index": places})


def scatter_nd(node: Node) -> Result:
    """X with the parts at positions replaced, or with something added to them."""
    x, updates = node.var(0), node.var(2)
    places = _positions(node, x, 1)
    reduction = node.attr("reduction", "none")
    if reduction == "add":
        return append("scatter_nd_add", {"X": x, "Index": places, "Updates": updates})
    if reduction != "none":
        raise node.refuse("attribute reduction must be 'none' or 'add'", repr(reduction))
    depth = places.shape[-1]
    shape = node.known_shape(0)
    lead, row = shape[:depth], shape[depth:]
    strides = [math.prod(lead[i + 1 :]) for i in range(depth)]
    factors = node.as_variable(constant(strides, places.dtype))
    flat = append("reduce_sum", {"X": binary("elementwise_mul", places, factors)}, {"dim": [-1]})
    return _rows_replaced(x, shape, math.prod(row), flat, updates)


def _rows_replaced(
    x: Variable, shape: tuple[int, ...], row: int, index: Variable, updates: Variable
) -> Variable:
    rows = reshaped(x, [-1, row])
    new = reshaped(updates, [-1, row])
    inputs = {"Ref": rows, "Index": reshaped(index, [-1]), "Updates": new}
    return reshaped(append("scatter", inputs), shape)


def scatter_elements(node: Node) -> Result:
    """X with the elements that indices name along an axis replaced, or added to."""
    x, updates = node.var(0), node.var(2)
    shape, inner = node.known_shape(0), node.known_shape(1)
    axis = node.axis("axis", len(shape))
    reduction = node.attr("reduction", "none")
    if reduction not in ("none", "add"):
        raise node.refuse("attribute reduction must be 'none' or 'add'", repr(reduction))
    index = counted_from_front(node, 1, shape[axis])
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    node.check_count(math.prod(inner) * len(inner))
    offsets = sum(
        (
            grid * stride
            for i, (grid, stride) in enumerate(zip(np.indices(inner), strides, strict=True))
            if i != axis
        ),
        start=np.zeros(inner, np.int64),
    )
    along = append("scale", {"X": index}, {"scale": float(strides[axis])})
    flat = binary("elementwise_add", along, node.as_variable(constant(offsets, index.dtype)))
    if reduction == "none":
        return _rows_replaced(x, shape, 1, flat, updates)
    inputs = {
        "X": reshaped(x, [-1]),
        "Index": reshaped(flat, [-1, 1]),
        "Updates": reshaped(updates, [-1]),
    }
    return reshaped(append("scatter_nd_add", inputs), shape)


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
    bound = 2**31 - 1  # beyond every extent
    starts = [max(min(start, bound), -bound) for start in starts]
    ends = [max(min(end, bound), -bound) for end in ends]
    attrs = {"axes": axes, "starts": starts, "ends": ends}
    if all(step == 1 for step in steps):
        return append("slice", {"X": x}, attrs)
    steps = [max(min(step, bound), -bound) for step in steps]
    return append("strided_slice", {"X": x}, attrs | {"strides": steps})


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
            "ends": [min(ends[i], 0) or 2**31 - 1 for i in cut],
        }
        x = append("slice", {"X": x}, attrs)
    paddings = [max(n, 0) for pair in zip(begins, ends, strict=True) for n in pair]
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise node.refuse("attribute mode must be constant, edge, reflect or wrap", repr(mode))
    return append("pad", {"X": x}, {"paddings": paddings, "pad_value": value, "mode": mode})


def one_hot(node: Node) -> Result:
    """One value at the index, another elsewhere, along a new dimension."""
    index = node.var(0)
    depth = int(node.number(1))
    values = node.var(2)
    rank = len(index.shape) + 1
    axis = node.axis("axis", rank)
    if index.dtype != "int64":
        index = layers.cast(index, "int64")
    end = number_like(index, depth)
    behind = binary("elementwise_add", index, end)
    index = layers.where(layers.less_than(index, number_like(index, 0)), behind, index)
    index = append("unsqueeze", {"X": index}, {"axes": [axis]})
    shape = [1] * rank
    shape[axis] = depth
    node.check_count(depth)
    numbers = node.as_variable(constant(np.arange(depth).reshape(shape), np.int64))
    is_hot = binary("equal", index, numbers)
    off, on = (
        layers.reshape(
            append("slice", {"X": values}, {"axes": [0], "starts": [i], "ends": [i + 1]}), []
        )
        for i in (0, 1)
    )
    return layers.where(is_hot, on, off)


def top_k(node: Node) -> Result:
    """The greatest or least elements along an axis, and where they are."""
    x = node.var(0)
    rank = len(x.shape)
    axis = node.axis("axis", rank)
    count = int(node.number(1)) if node.opset >= 10 else node.attr("k")
    largest = bool(node.attr("largest", 1))
    node.ignore("sorted")
    perm = axis_last(rank, axis)
    rows = transposed(x, perm)
    if largest:
        found, where = layers.top_k(rows, count)
    else:
        found, where = layers.argsort(rows, axis=-1)
        part = {"axes": [rank - 1], "starts": [0], "ends": [count]}
        found, where = (append("slice", {"X": each}, part) for each in (found, where))
    return [transposed(found, perm), transposed(where, perm)]


def _cumulated(op_type: str) -> Rule:
    def rule(node: Node) -> Result:
        x = node.var(0)
        axis = node.dimension(int(node.number(1)), len(x.shape))
        attrs = {
            "axis": axis,
            "exclusive": node.flag("exclusive"),
            "reverse": node.flag("reverse"),
        }
        return append(op_type, {"X": x}, attrs)

    return rule


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
    "Compress": compress,
    "CumProd": _cumulated("cumprod"),
    "CumSum": _cumulated("cumsum"),
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "NonZero": nonzero,
    "OneHot": one_hot,
    "Pad": pad,
    "ReverseSequence": reverse_sequence,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Slice": slice_,
    "TopK": top_k,
}
