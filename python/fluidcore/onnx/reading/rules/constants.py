"""Tensors of known elements."""

from __future__ import annotations

import math

import numpy as np

from fluidcore import layers
from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append
from fluidcore.onnx.reading.rules.run_time import ones
from fluidcore.onnx.reading.tensors import element_type, to_array, type_name
from fluidcore.onnx.reading.values import Constant, Extents, Open, Value


def constant_node(node: Node) -> Result:
    """A value that an attribute holds: as if it were an initializer."""
    kinds = {
        "value_float": np.float32,
        "value_floats": np.float32,
        "value_int": np.int64,
        "value_ints": np.int64,
    }
    if node.has_attr("sparse_value"):
        raise node.refuse("the constant must be dense", "a sparse one")
    if node.has_attr("value"):
        array = to_array(node.attr("value"), None, node.where)
        # Some exporters write weights so; a number by itself is none.
        return Constant(array, is_parameter=array.dtype.name in FLOATING and array.size > 1)
    for name, dtype in kinds.items():
        if node.has_attr(name):
            return constant(node.attr(name), dtype)
    given = sorted(node.attributes)
    raise node.refuse("the constant must be a dense tensor of numbers", given)


def constant_of_shape(node: Node) -> Result:
    """One value everywhere."""
    value = np.zeros(1, np.float32)
    if node.has_attr("value"):
        value = to_array(node.attr("value"), None, node.where)
    if value.size != 1:
        raise node.refuse("attribute value must have one element", list(value.shape))
    if value.dtype.kind in "iu" and abs(int(value.reshape(-1)[0])) >= 2**53:
        raise node.refuse("attribute value must be one that a float64 holds", value)
    number = float(value.reshape(-1)[0])
    extents = node.extents(0)
    places = [i for i, extent in enumerate(extents) if not isinstance(extent, int)]
    if not places:
        return layers.fill_constant(node.ints(0), value.dtype, number)
    extent = extents[places[0]]
    if len(places) > 1 or not isinstance(extent, Open):
        raise node.refuse("at most one extent must be open", f"{extents}; give dims to load")
    known = [each if isinstance(each, int) else -1 for each in extents]
    return layers.fill_constant_batch_size_like(
        extent.source, known, value.dtype, number, extent.axis, places[0]
    )


def eye_like(node: Node) -> Result:
    """1 on a diagonal of a matrix, else 0."""
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
    return constant(array, numpy_dtype(dtype))


def range_(node: Node) -> Result:
    """Numbers from a start to a limit, which is not one of them; that may be an open extent."""
    limits = node.value(1)
    if isinstance(limits, Extents) and isinstance(limits.numbers[0], Open):
        first, step = (int(node.number(i)) for i in (0, 2))
        if (first, step) != (0, 1):
            raise node.refuse(
                "numbers below an open extent must be 0, 1, 2, ...",
                f"a start of {first} and a step of {step}; give dims or shapes to load",
            )
        each = ones(limits.numbers[0], limits.dtype)
        return append("cumsum", {"X": each}, {"axis": 0, "exclusive": True})
    start, limit, delta = (node.constant(i).reshape(-1)[0] for i in range(3))
    if delta == 0:
        raise node.refuse("the step must not be 0", 0)
    count = max(math.ceil((float(limit) - float(start)) / float(delta)), 0)
    node.check_count(count)
    dtype = start.dtype
    wide = np.float64 if dtype.kind == "f" else np.int64
    return constant((np.arange(count).astype(wide) * wide(delta) + wide(start)).astype(dtype))


RULES: Rules = {
    "Constant": constant_node,
    "ConstantOfShape": constant_of_shape,
    "EyeLike": eye_like,
    "Range": range_,
}
