"""Elementwise arithmetic of one, two or more inputs."""

from __future__ import annotations

from functools import reduce

from fluidcore import layers
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import (
    Result,
    Rule,
    Rules,
    append,
    binary,
    broadcast,
    is_floating,
    negated,
    number_like,
    scaled,
)
from fluidcore.onnx.reading.values import Constant
from fluidcore.program import Variable


def _unary(op_type: str) -> Rule:
    def rule(node: Node) -> Result:
        return append(op_type, {"X": node.var(0)})

    return rule


def _binary(op_type: str) -> Rule:
    def rule(node: Node) -> Result:
        return broadcast(op_type, node)

    return rule


def _folded(op_type: str) -> Rule:
    """Of any number of inputs, from the left."""

    def rule(node: Node) -> Result:
        return reduce(lambda x, y: binary(op_type, x, y), node.all_vars())

    return rule


def mean(node: Node) -> Result:
    """The mean of any number of inputs."""
    total = reduce(lambda x, y: binary("elementwise_add", x, y), node.all_vars())
    return scaled(total, 1.0 / node.num_inputs)


def neg(node: Node) -> Result:
    """-x."""
    return negated(node.var(0))


def pow_(node: Node) -> Result:
    """X^y, in the dtype of x."""
    base, exponent = node.var(0), node.value(1)
    dtype = base.dtype
    is_number = isinstance(exponent, Constant) and not exponent.is_parameter
    if is_number and is_floating(base) and node.shape(1) in ((), (1,)) and base.shape:
        factor = node.number(1)
        return append("square", {"X": base}) if factor == 2 else _power(base, factor)
    power = node.var(1)
    if not is_floating(base) and is_floating(power):
        base = layers.cast(base, power.dtype)
    elif power.dtype != base.dtype:
        power = layers.cast(power, base.dtype)
    out = binary("elementwise_pow", base, power)
    return out if out.dtype == dtype else layers.cast(out, dtype)


def _power(x: Variable, factor: float) -> Variable:
    return append("pow", {"X": x}, {"factor": factor})


def mod(node: Node) -> Result:
    """The remainder: of the sign of y, or of x with fmod."""
    x, y = node.var(0), node.var(1)
    if not node.flag("fmod"):
        return binary("elementwise_mod", x, y)
    rest = binary("elementwise_mod", append("abs", {"X": x}), append("abs", {"X": y}))
    return layers.where(layers.less_than(x, number_like(x, 0)), negated(rest), rest)


def tan(node: Node) -> Result:
    """The tangent, as sine by cosine."""
    x = node.var(0)
    return binary("elementwise_div", append("sin", {"X": x}), append("cos", {"X": x}))


def cosh(node: Node) -> Result:
    """(e^x + e^-x) / 2."""
    x = node.var(0)
    total = binary(
        "elementwise_add", append("exp", {"X": x}), append("exp", {"X": scaled(x, -1.0)})
    )
    return scaled(total, 0.5)


def clip(node: Node) -> Result:
    """X between two bounds, each of which may be left out or known only at run time."""
    x = node.var(0)
    if node.opset < 11:
        low, high = node.attr("min"), node.attr("max")
        return append("clip", {"X": x}, {"min": float(low), "max": float(high)})
    for index, op_type in ((1, "elementwise_max"), (2, "elementwise_min")):
        if node.has(index):
            x = binary(op_type, x, _scalar(node, index))
    return x if node.has(1) or node.has(2) else append("assign", {"X": x})


def _scalar(node: Node, index: int) -> Variable:
    bound = node.var(index)
    if bound.shape not in ((), (1,)):
        raise node.refuse(f"input {index} must have one element", list(bound.shape))
    return bound if bound.shape == () else layers.reshape(bound, [])


RULES: Rules = {
    "Abs": _unary("abs"),
    "Add": _binary("elementwise_add"),
    "Ceil": _unary("ceil"),
    "Clip": clip,
    "Cos": _unary("cos"),
    "Cosh": cosh,
    "Div": _binary("elementwise_div"),
    "Erf": _unary("erf"),
    "Exp": _unary("exp"),
    "Floor": _unary("floor"),
    "Log": _unary("log"),
    "Max": _folded("elementwise_max"),
    "Mean": mean,
    "Min": _folded("elementwise_min"),
    "Mod": mod,
    "Mul": _binary("elementwise_mul"),
    "Neg": neg,
    "Pow": pow_,
    "Reciprocal": _unary("reciprocal"),
    "Round": _unary("round"),
    "Sign": _unary("sign"),
    "Sin": _unary("sin"),
    "Sqrt": _unary("sqrt"),
    "Sub": _binary("elementwise_sub"),
    "Sum": _folded("elementwise_add"),
    "Tan": tan,
}
