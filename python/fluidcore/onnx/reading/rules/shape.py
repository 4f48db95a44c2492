"""Shapes, and the same elements in another arrangement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from fluidcore import layers
from fluidcore.onnx.reading.extents import known_extents
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append, reshaped, transposed
from fluidcore.onnx.reading.rules.run_time import reshaped_open
from fluidcore.onnx.reading.values import Extents, Number, Open
from fluidcore.program import Variable


def shape(node: Node) -> Result:
    """The extents of a tensor, as far as they are known."""
    extents = node.open_shape(0)
    start, end = node.attr("start", 0), node.attr("end", None)  # from opset 15 on
    return known_extents(Extents(tuple(extents[slice(start, end)])))


def size(node: Node) -> Result:
    """The number of elements."""
    extents = node.shape(0)
    if -1 in extents:
        return Extents((None,), is_scalar=True)  # a number of which nothing is known
    return constant(math.prod(extents), np.int64)


def identity(node: Node) -> Result:
    """The input itself."""
    return node.value(0)


def reshape(node: Node) -> Result:
    """The elements in another shape, whose open extents are those of other values, but for one."""
    x = node.var(0)
    given = node.open_shape(0)
    wanted = list(node.attr("shape")) if node.opset < 5 else node.extents(1)
    if not node.attr("allowzero", 0):
        if any(extent == 0 and i >= len(given) for i, extent in enumerate(wanted)):
            raise node.refuse("a 0 in the shape must copy an extent of the input", wanted)
        wanted = [given[i] if extent == 0 else extent for i, extent in enumerate(wanted)]
    if wanted == given and not any(extent is None for extent in given):
        return append("assign", {"X": x})
    if sum(not _is_known(extent) for extent in wanted) > 1:
        wanted = _resolved(given, wanted)
    if sum(not _is_known(extent) and not isinstance(extent, Open) for extent in wanted) > 1:
        raise node.refuse(
            "at most one extent of the shape must be open, but for those of other values",
            f"{['?' if each is None else each for each in wanted]} for {given}; give dims or "
            "shapes to load",
        )
    return reshaped_open(x, wanted)


def _is_known(extent: Number) -> bool:
    return isinstance(extent, int) and extent >= 0


def _resolved(given: Sequence[Number], wanted: Sequence[Number]) -> list[Number]:
    """A shape in which the extent that follows from the others is known, if it does.

    Where the open extents of the two shapes are the same, it follows from the known ones.
    """
    free = [i for i, extent in enumerate(wanted) if extent is None or extent == -1]
    open_given = Counter(extent for extent in given if isinstance(extent, Open))
    open_wanted = Counter(extent for extent in wanted if isinstance(extent, Open))
    known = math.prod(n for n in wanted if isinstance(n, int) and n >= 0)
    total = math.prod(n for n in given if isinstance(n, int))
    if len(free) != 1 or open_given != open_wanted or known == 0 or total % known:
        return list(wanted)
    return [total // known if i == free[0] else extent for i, extent in enumerate(wanted)]


def flatten(node: Node) -> Result:
    """A matrix: the dimensions before an axis are its rows."""
    x = node.var(0)
    axis = node.axis("axis", len(x.shape), end=True)
    return flattened(x, axis)


def flattened(x: Variable, axis: int) -> Variable:
    """X as a matrix whose rows are the dimensions before an axis."""
    rows, columns = x.shape[:axis], x.shape[axis:]
    if -1 in rows and -1 in columns:
        return append("flatten", {"X": x}, {"axis": axis})
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
    own: list[Number] = [*[1] * (rank - len(x.shape)), *node.open_shape(0)]
    if len(x.shape) < rank:
        x = _leading_ones(x, rank)
    extents: list[int] = []
    padded: list[Number] = [*[1] * (rank - len(wanted)), *wanted]
    for axis, (have, want) in enumerate(zip(own, padded, strict=True)):
        if have == want or want == 1 or (want is None and isinstance(have, Open)):
            extents.append(have if isinstance(have, int) else -1)
        elif have == 1 and isinstance(want, Open):
            x = _repeated(x, axis, want)
            extents.append(-1)
        elif have == 1 and isinstance(want, int):
            extents.append(want)
        else:
            raise node.refuse(
                "the input must broadcast to the shape",
                f"{own} for {['?' if each is None else each for each in wanted]}; give dims or "
                "shapes to load where extents are open",
            )
    return append("broadcast_to", {"X": x}, {"shape": extents})


def _repeated(x: Variable, axis: int, extent: Open) -> Variable:
    """X with its only part along an axis again and again, as often as an open extent says."""
    index = layers.fill_constant_batch_size_like(extent.source, [1], "int64", 0, extent.axis)
    return append("index_select", {"X": x, "Index": index}, {"axis": axis})


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
