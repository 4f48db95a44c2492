"""Shapes, and the same elements in another arrangement."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fluidcore import layers
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append, reshaped, transposed
from fluidcore.onnx.reading.values import Extents
from fluidcore.program import Variable


def shape(node: Node) -> Result:
    """The extents of a tensor, as far as they are known."""
    extents = list(node.shape(0))
    start, end = node.attr("start", 0), node.attr("end", None)  # from opset 15 on
    part = extents[slice(start, end)]
    if -1 in part:
        return Extents(tuple(None if extent < 0 else extent for extent in part))
    return constant(part, np.int64)


def size(node: Node) -> Result:
    """The number of elements."""
    extents = node.shape(0)
    if -1 in extents:
        return Extents((None,), is_scalar=True)
    return constant(math.prod(extents), np.int64)


def identity(node: Node) -> Result:
    """The input itself."""
    return node.value(0)


def reshape(node: Node) -> Result:
    """The elements in another shape; of extents that are not known one can follow from the rest."""
    x = node.var(0)
    given = x.shape
    wanted = list(node.attr("shape")) if node.opset < 5 else node.extents(1)
    copies = not node.attr("allowzero", 0)
    found: list[int] = []
    for i, extent in enumerate(wanted):
        if extent == 0 and copies:
            if i >= len(given):
                raise node.refuse("a 0 in the shape must copy an extent of the input", wanted)
            extent = None if given[i] < 0 else given[i]
            if extent is None and wanted.count(None) == 0 and -1 in wanted:
                return _keeping_open(node, x, wanted)
        found.append(-1 if extent is None else extent)
    if found.count(-1) > 1:
        raise node.refuse(
            "at most one extent of the shape must be open",
            f"{[None if n == -1 else n for n in found]}; give dims or shapes to load",
        )
    return reshaped(x, found)


def _keeping_open(node: Node, x: Variable, wanted: Sequence[int | None]) -> Variable:
    """A reshape that copies open extents and has a -1: fluidcore copies where there is a 0."""
    if any(extent == 0 for extent in x.shape):
        raise node.refuse("the input must not be empty", list(x.shape))
    return layers.reshape(x, [-1 if extent is None else extent for extent in wanted])


def flatten(node: Node) -> Result:
    """A matrix: the dimensions before an axis are its rows."""
    x = node.var(0)
    axis = node.axis("axis", len(x.shape), end=True)
    return flattened(node, x, axis)


def flattened(node: Node, x: Variable, axis: int) -> Variable:
    """X as a matrix whose rows are the dimensions before an axis."""
    rows, columns = x.shape[:axis], x.shape[axis:]
    if -1 in rows and -1 in columns:
        raise node.refuse("open extents must be on one side of the axis", list(x.shape))
    extents = [-1 if -1 in part else math.prod(part) for part in (rows, columns)]
    return reshaped(x, extents)


def _axes(node: Node) -> list[int] | None:
    if node.opset < 13:
        axes = node.attr("axes", None)
        return None if axes is None else list(axes)
    return node.ints(1) if node.has(1) else None


def squeeze(node: Node) -> Result:
    """Without dimensions of extent 1."""
    x = node.var(0)
    axes = _axes(node)
    if axes is None:
        axes = [i for i, extent in enumerate(node.known_shape(0)) if extent == 1]
    axes = node.dimensions(axes, len(x.shape))
    if any(x.shape[i] not in (1, -1) for i in axes):
        raise node.refuse(f"dimensions {axes} must have the extent 1", list(x.shape))
    if not axes:
        return append("assign", {"X": x})
    return append("squeeze", {"X": x}, {"axes": axes})


def unsqueeze(node: Node) -> Result:
    """With new dimensions of extent 1."""
    x = node.var(0)
    axes = _axes(node) or []
    found = node.dimensions(axes, len(x.shape) + len(axes))
    if not found:
        return append("assign", {"X": x})
    return append("unsqueeze", {"X": x}, {"axes": sorted(found)})


def transpose(node: Node) -> Result:
    """The dimensions in another order, reversed if none is given."""
    x = node.var(0)
    rank = len(x.shape)
    perm = node.attr("perm", list(range(rank))[::-1])
    if sorted(perm) != list(range(rank)):
        raise node.refuse("attribute perm must name each dimension once", list(perm))
    out = transposed(x, perm)
    return out if out is not x else append("assign", {"X": x})


def expand(node: Node) -> Result:
    """X, broadcast with a shape."""
    x = node.var(0)
    wanted = node.extents(1)
    rank = max(len(wanted), len(x.shape))
    own = [1] * (rank - len(x.shape)) + list(x.shape)
    extents: list[int] = []
    for have, want in zip(own, [1] * (rank - len(wanted)) + wanted, strict=True):
        if want is None or (have == -1 and want != 1):
            if have == -1 and want is None:
                extents.append(-1)  # what is asked for can only be this or 1
                continue
            raise node.refuse(
                "the shape must be known while the model is read", f"{wanted}; give dims to load"
            )
        if have not in (want, 1, -1) and want != 1:
            raise node.refuse("the input must broadcast to the shape", f"{own} for {wanted}")
        extents.append(have if want == 1 else want)
    if len(x.shape) < rank:
        x = reshaped(x, own) if own.count(-1) < 2 else _leading_ones(x, rank)
    return append("broadcast_to", {"X": x}, {"shape": extents})


def _leading_ones(x: Variable, rank: int) -> Variable:
    return append("unsqueeze", {"X": x}, {"axes": list(range(rank - len(x.shape)))})


def tile(node: Node) -> Result:
    """X repeated along each dimension."""
    x = node.var(0)
    repeats = node.ints(1)
    if len(repeats) != len(x.shape):
        raise node.refuse(f"input 1 must have {len(x.shape)} numbers", repeats)
    return append("expand", {"X": x}, {"expand_times": repeats})


def concat(node: Node) -> Result:
    """Tensors one after the other."""
    parts = node.all_vars()
    axis = node.axis("axis", len(parts[0].shape))
    return append("concat", {"X": parts}, {"axis": axis})


def split(node: Node) -> Result:
    """Parts along an axis, equal ones if nothing else is said."""
    x = node.var(0)
    axis = node.axis("axis", len(x.shape))
    node.ignore("num_outputs")  # as many as are written
    sections: list[int] | None = None
    if node.opset < 13:
        given = node.attr("split", None)
        sections = None if given is None else list(given)
    elif node.has(1):
        sections = node.ints(1)
    if sections is None:
        sections = _equal_parts(node, x.shape[axis])
    if len(sections) != node.num_outputs or any(part < 0 for part in sections):
        raise node.refuse(f"there must be {node.num_outputs} parts", sections)
    return layers.split(x, sections, dim=axis)


def _equal_parts(node: Node, extent: int) -> list[int]:
    count = node.num_outputs
    if extent < 0:
        raise node.refuse("the extent along the axis must be known", "an open one")
    part = -(-extent // count)
    last = extent - part * (count - 1)
    if last < 0 or (last != part and node.opset < 18):
        raise node.refuse(f"an extent of {extent} must fall into equal parts", count)
    return [part] * (count - 1) + [last]


RULES: Rules = {
    "Concat": concat,
    "Expand": expand,
    "Flatten": flatten,
    "Identity": identity,
    "Reshape": reshape,
    "Shape": shape,
    "Size": size,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
