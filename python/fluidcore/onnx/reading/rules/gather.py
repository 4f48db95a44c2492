"""Elements and parts at places that indices name, and parts of tensors by numbers."""

from __future__ import annotations

import math

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
from fluidcore.onnx.reading.rules.run_time import reshaped_open
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
    if len(index.shape) <= 1:
        return append("index_select", {"X": x, "Index": index}, {"axis": axis})
    flat = append("index_select", {"X": x, "Index": reshaped(index, [-1])}, {"axis": axis})
    own = node.open_shape(0)
    return reshaped_open(flat, [*own[:axis], *node.open_shape(1), *own[axis + 1 :]])


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
    if -1 in x.shape[: batch + shape[-1]]:
        raise node.refuse("the extents that are indexed must be known", list(x.shape))
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


RULES: Rules = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
}
