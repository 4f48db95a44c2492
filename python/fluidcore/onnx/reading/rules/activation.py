"""Activations."""

from __future__ import annotations

import math

from fluidcore import layers
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import (
    Result,
    Rule,
    Rules,
    append,
    axis_last,
    binary,
    number_like,
    reshaped,
    scaled,
    transposed,
)
from fluidcore.program import Variable


def _plain(op_type: str, **attrs: str) -> Rule:
    """An operator with attributes of the same meaning: `{fluidcore's name: ONNX's name}`."""

    def rule(node: Node) -> Result:
        given = {own: float(node.attr(name)) for own, name in attrs.items()}
        return append(op_type, {"X": node.var(0)}, given)

    return rule


def prelu(node: Node) -> Result:
    """X where x > 0, else slope x, with any slope that broadcasts to x."""
    x, slope = node.var(0), node.var(1)
    if node.opset < 7 and len(slope.shape) == 1 and slope.shape != (1,):
        slope = reshaped(slope, [-1, *[1] * (len(x.shape) - 2)])  # one for each channel
    if len(slope.shape) > len(x.shape):
        raise node.refuse("the slope must broadcast to the input", list(slope.shape))
    below = binary("elementwise_min", x, number_like(x, 0.0))
    return binary(
        "elementwise_add", append("relu", {"X": x}), binary("elementwise_mul", below, slope)
    )


def selu(node: Node) -> Result:
    """Gamma times elu."""
    out = append("elu", {"X": node.var(0)}, {"alpha": float(node.attr("alpha"))})
    return scaled(out, node.attr("gamma"))


def celu(node: Node) -> Result:
    """Max(x, 0) + min(0, alpha (e^(x / alpha) - 1)), by elu of x / alpha."""
    alpha = float(node.attr("alpha"))
    return scaled(append("elu", {"X": scaled(node.var(0), 1.0 / alpha)}, {"alpha": 1.0}), alpha)


def gelu(node: Node) -> Result:
    """X times the normal distribution function at x, or its approximation."""
    node.only("approximate", "none", "tanh")
    tanh = node.attr("approximate") == "tanh"
    return append("gelu", {"X": node.var(0)}, {"approximate": tanh})


def hard_swish(node: Node) -> Result:
    """X min(max(x / 6 + 0.5, 0), 1)."""
    x = node.var(0)
    gate = append("hard_sigmoid", {"X": x}, {"slope": 1.0 / 6.0, "offset": 0.5})
    return binary("elementwise_mul", x, gate)


def shrink(node: Node) -> Result:
    """X + bias below -lambd, x - bias above lambd, else 0."""
    x = node.var(0)
    lambd, bias = float(node.attr("lambd")), float(node.attr("bias"))
    zero, shift = number_like(x, 0.0), number_like(x, bias)
    below = layers.less_than(x, number_like(x, -lambd))
    above = layers.greater_than(x, number_like(x, lambd))
    least = layers.where(above, binary("elementwise_sub", x, shift), zero)
    return layers.where(below, binary("elementwise_add", x, shift), least)


def _over_axis(op_type: str) -> Rule:
    """Softmax or its logarithm; before opset 13 over all dimensions from the axis on."""

    def rule(node: Node) -> Result:
        x = node.var(0)
        rank = len(x.shape)
        if node.opset >= 13:
            return along_axis(op_type, x, node.axis("axis", rank))
        axis = node.axis("axis", rank)
        if axis == rank - 1:
            return append(op_type, {"X": x})
        shape = node.known_shape(0)
        rows, row = math.prod(shape[:axis]), math.prod(shape[axis:])
        return reshaped(append(op_type, {"X": reshaped(x, [rows, row])}), shape)

    return rule


def along_axis(op_type: str, x: Variable, axis: int) -> Variable:
    """An operator of the last dimension, along another one."""
    if not x.shape:
        return layers.reshape(append(op_type, {"X": layers.reshape(x, [1])}), [])
    perm = axis_last(len(x.shape), axis)
    return transposed(append(op_type, {"X": transposed(x, perm)}), perm)


def hardmax(node: Node) -> Result:
    """1 at the first greatest element along an axis, else 0."""
    x = node.var(0)
    shape = node.known_shape(0)
    axis = node.axis("axis", len(shape))
    if node.opset < 13 and axis != len(shape) - 1:
        x = reshaped(x, [math.prod(shape[:axis]), math.prod(shape[axis:])])
        return reshaped(_hot(x, 1), shape)
    return _hot(x, axis)


def _hot(x: Variable, axis: int) -> Variable:
    perm = axis_last(len(x.shape), axis)
    rows = transposed(x, perm)
    best = layers.argmax(rows, axis=-1, keepdims=True)
    return transposed(layers.one_hot(best, rows.shape[-1], x.dtype), perm)


RULES: Rules = {
    "Celu": celu,
    "Elu": _plain("elu", alpha="alpha"),
    "Gelu": gelu,
    "HardSigmoid": _plain("hard_sigmoid", slope="alpha", offset="beta"),
    "HardSwish": hard_swish,
    "Hardmax": hardmax,
    "LeakyRelu": _plain("leaky_relu", alpha="alpha"),
    "LogSoftmax": _over_axis("log_softmax"),
    "Mish": _plain("mish"),
    "PRelu": prelu,
    "Relu": _plain("relu"),
    "Selu": selu,
    "Shrink": shrink,
    "Sigmoid": _plain("sigmoid"),
    "Softmax": _over_axis("softmax"),
    "Softplus": _plain("softplus"),
    "Softsign": _plain("softsign"),
    "Swish": _plain("swish", beta="alpha"),
    "Tanh": _plain("tanh"),
    "ThresholdedRelu": _plain("thresholded_relu", threshold="alpha"),
}
