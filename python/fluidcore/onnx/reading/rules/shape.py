"""Shapes, and the same elements in another arrangement."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fluidcore import layers
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append, reshaped, transposed
from fluidcore.onnx.reading.values import Constant, Extents, Value
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
    names = {"X": x}, {"sections": sections, "axis": axis}
    from fluidcore.program import default_main_program

    block = default_main_program().current_block()
    parts = [block.unique_name("split") for _ in sections]
    block.append_op("split", names[0], {"Out": parts}, names[1])
    return [block.var(part) for part in parts]


def _equal_parts(node: Node, extent: int) -> list[int]:
    count = node.num_outputs
    if extent < 0:
        raise node.refuse("the extent along the axis must be known", "an open one")
    part = -(-extent // count)
    last = extent - part * (count - 1)
    if last < 0 or (last != part and node.opset < 18):
        raise node.refuse(f"an extent of {extent} must fall into equal parts", count)
    return [part] * (count - 1) + [last]


def depth_to_space(node: Node) -> Result:
    """Channels become pixels."""
    x = node.var(0)
    batch, channels, height, width = _image(node)
    block = node.attr("blocksize")
    rest = channels // (block * block)
    node_mode = node.attr("mode", "DCR")
    if node_mode == "CRD":
        split_up, perm = [batch, rest, block, block, height, width], [0, 1, 4, 2, 5, 3]
    elif node_mode == "DCR":
        split_up, perm = [batch, block, block, rest, height, width], [0, 3, 4, 1, 5, 2]
    else:
        raise node.refuse("attribute mode must be 'DCR' or 'CRD'", repr(node_mode))
    pixels = transposed(reshaped(x, split_up), perm)
    return reshaped(pixels, [batch, rest, height * block, width * block])


def space_to_depth(node: Node) -> Result:
    """Pixels become channels."""
    x = node.var(0)
    is_crd = node.attr("mode", "DCR") == "CRD"
    batch, channels, height, width = _image(node)
    block = node.attr("blocksize")
    cut = [batch, channels, height // block, block, width // block, block]
    moved = transposed(reshaped(x, cut), [0, 1, 3, 5, 2, 4] if is_crd else [0, 3, 5, 1, 2, 4])
    return reshaped(moved, [batch, channels * block * block, height // block, width // block])


def _image(node: Node) -> list[int]:
    """[N, C, H, W]; only the first may be open."""
    extents = list(node.shape(0))
    if len(extents) != 4 or -1 in extents[1:]:
        raise node.refuse("the input must be [N, C, H, W] with known C, H and W", extents)
    return extents


def constant_node(node: Node) -> Result:
    """A value that an attribute holds."""
    from fluidcore.onnx.reading.tensors import to_array

    kinds = {
        "value_float": np.float32,
        "value_floats": np.float32,
        "value_int": np.int64,
        "value_ints": np.int64,
    }
    if node.has_attr("sparse_value"):
        raise node.refuse("the constant must be dense", "a sparse one")
    if node.has_attr("value"):
        return Constant(to_array(node.attr("value"), None, node.where))
    for name, dtype in kinds.items():
        if node.has_attr(name):
            return constant(node.attr(name), dtype)
    given = sorted(node.attributes)
    raise node.refuse("the constant must be a dense tensor of numbers", given)


def constant_of_shape(node: Node) -> Result:
    """One value everywhere."""
    from fluidcore.onnx.reading.tensors import to_array

    value = np.zeros(1, np.float32)
    if node.has_attr("value"):
        value = to_array(node.attr("value"), None, node.where)
    if value.size != 1:
        raise node.refuse("attribute value must have one element", list(value.shape))
    if value.dtype.kind in "iu" and abs(int(value.reshape(-1)[0])) >= 2**53:
        raise node.refuse("attribute value must be one that a float64 holds", value)
    extents = node.ints(0)
    element = value.reshape(-1)[0]
    return layers.fill_constant(extents, value.dtype, float(element))


def eye_like(node: Node) -> Result:
    """1 on a diagonal of a matrix, else 0."""
    from fluidcore.onnx.reading.tensors import element_type, type_name

    extents = node.known_shape(0)
    if len(extents) != 2:
        raise node.refuse("the input must be a matrix", list(extents))
    dtype = node.var(0).dtype
    if node.has_attr("dtype"):
        found = element_type(node.attr("dtype"))
        if found is None:
            kind = type_name(node.attr("dtype"))
            raise node.refuse("attribute dtype must be an element type fluidcore has", kind)
        dtype = found
    node.check_count(math.prod(extents))
    return as_variable(node, np.eye(*extents, k=node.attr("k")), dtype)


def as_variable(node: Node, array: object, dtype: str) -> Value:
    """A constant of a dtype."""
    from fluidcore.base.dtypes import numpy_dtype

    return constant(array, numpy_dtype(dtype))


def range_(node: Node) -> Result:
    """Numbers from a start to a limit, which is not one of them."""
    start, limit, delta = (node.constant(i).reshape(-1)[0] for i in range(3))
    if delta == 0:
        raise node.refuse("the step must not be 0", 0)
    count = max(math.ceil((float(limit) - float(start)) / float(delta)), 0)
    node.check_count(count)
    dtype = start.dtype
    wide = np.float64 if dtype.kind == "f" else np.int64
    return constant((np.arange(count).astype(wide) * wide(delta) + wide(start)).astype(dtype))


RULES: Rules = {
    "Concat": concat,
    "Constant": constant_node,
    "ConstantOfShape": constant_of_shape,
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "EyeLike": eye_like,
    "Flatten": flatten,
    "Identity": identity,
    "Range": range_,
    "Reshape": reshape,
    "Shape": shape,
    "Size": size,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
