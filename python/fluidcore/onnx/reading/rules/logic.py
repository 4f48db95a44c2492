"""Comparisons, logic, choices."""

from __future__ import annotations

import numpy as np

from fluidcore import layers
from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import (
    Result,
    Rule,
    Rules,
    append,
    broadcast,
    number_like,
)
from fluidcore.onnx.reading.tensors import element_type, type_name
from fluidcore.onnx.reading.values import Constant, dtype_of


def _binary(op_type: str) -> Rule:
    def rule(node: Node) -> Result:
        return broadcast(op_type, node)

    return rule


def logical_not(node: Node) -> Result:
    """Whether x is false."""
    return layers.logical_not(node.var(0))


def where(node: Node) -> Result:
    """X where the condition is true, else y."""
    return layers.where(node.var(0), node.var(1), node.var(2))


def isnan(node: Node) -> Result:
    """Whether x is not a number."""
    return append("isnan", {"X": node.var(0)})


def isinf(node: Node) -> Result:
    """Whether x is infinite, of the signs that are wanted."""
    x = node.var(0)
    found = append("isinf", {"X": x})
    negative, positive = node.flag("detect_negative"), node.flag("detect_positive")
    if negative and positive:
        return found
    if not negative and not positive:
        return layers.logical_and(found, layers.logical_not(found))
    compare = layers.greater_than if positive else layers.less_than
    return layers.logical_and(found, compare(x, number_like(x, 0.0)))


def cast(node: Node) -> Result:
    """X in another element type."""
    node.ignore("saturate", "round_mode")  # of element types that fluidcore does not have
    number = node.attr("to")
    dtype = element_type(number)
    if dtype is None:
        raise node.refuse(
            "attribute to must be an element type that fluidcore has", type_name(number)
        )
    x = node.var(0)
    return layers.cast(x, dtype)


def cast_like(node: Node) -> Result:
    """X in the element type of another input."""
    node.ignore("saturate", "round_mode")
    value, dtype = node.value(0), dtype_of(node.value(1))
    if isinstance(value, Constant) and not value.is_parameter:
        with np.errstate(invalid="ignore"):
            known = value.array.astype(numpy_dtype(dtype))  # whatever the other is
        both = value.array.dtype.name in FLOATING and dtype in FLOATING
        if both or np.array_equal(known, value.array):
            return constant(known)
    return layers.cast(node.var(0), dtype)


RULES: Rules = {
    "And": _binary("logical_and"),
    "Cast": cast,
    "CastLike": cast_like,
    "Equal": _binary("equal"),
    "Greater": _binary("greater_than"),
    "GreaterOrEqual": _binary("greater_equal"),
    "IsInf": isinf,
    "IsNaN": isnan,
    "Less": _binary("less_than"),
    "LessOrEqual": _binary("less_equal"),
    "Not": logical_not,
    "Or": _binary("logical_or"),
    "Where": where,
    "Xor": _binary("logical_xor"),
}
