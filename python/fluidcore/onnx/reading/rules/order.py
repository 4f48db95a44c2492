"""The greatest elements, sums along an axis, and rows with one hot element."""

from __future__ import annotations

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
    transposed,
)


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


RULES: Rules = {
    "OneHot": one_hot,
    "TopK": top_k,
    "CumSum": _cumulated("cumsum"),
    "CumProd": _cumulated("cumprod"),
}
