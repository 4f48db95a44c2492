"""Shifts of bits, as products with powers of 2."""

from __future__ import annotations

from fluidcore import layers
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import Result, Rules, binary, number_like

_BITS = {"int16": 16, "int32": 32, "int64": 64}


def bit_shift(node: Node) -> Result:
    """X by so many bits; by less than 0, or by all that there are, only the sign is left."""
    node.only("direction", "LEFT", "RIGHT")
    x, count = node.var(0), node.var(1)
    if x.dtype not in _BITS:
        raise node.refuse(f"the input must be one of {list(_BITS)}", x.dtype)
    last = number_like(count, _BITS[x.dtype] - 1)  # the sign
    zero, two = number_like(x, 0), number_like(x, 2)
    below = layers.less_than(count, zero)
    is_last, beyond = layers.equal(count, last), layers.greater_than(count, last)
    outside = layers.logical_or(below, layers.greater_equal(count, last))
    factor = binary("elementwise_pow", two, layers.where(outside, zero, count))
    if node.attr("direction") == "RIGHT":
        sign = layers.where(layers.less_than(x, zero), number_like(x, -1), zero)
        return layers.where(outside, sign, binary("elementwise_floordiv", x, factor))
    # 2 to the last bit is no number of the type: half of it, twice
    half = number_like(x, 2 ** (_BITS[x.dtype] - 2))
    moved = binary("elementwise_mul", x, layers.where(is_last, half, factor))
    moved = layers.where(is_last, binary("elementwise_mul", moved, two), moved)
    return layers.where(layers.logical_or(below, beyond), zero, moved)


RULES: Rules = {"BitShift": bit_shift}
