"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fluidcore.onnx.writing.graph import Value, constant
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import no_extents

Function: TypeAlias = "Callable[[Op, Value], Value]"


def _of_x(function: Function) -> Rule:
    def rule(op: Op) -> None:
        op.set("Out", function(op, op.input("X")))

    return rule


def _named(op_type: str, **attrs: str) -> Rule:
    """Of an operator of ONNX; its attributes are those of ours, under our names."""

    def function(op: Op, x: Value) -> Value:
        return op.emit(op_type, x, **{theirs: op.attr(ours) for theirs, ours in attrs.items()})

    return _of_x(function)


def _rounding(op_type: str) -> Rule:
    """Whole numbers stay as they are."""

    def function(op: Op, x: Value) -> Value:
        return op.emit(op_type, x) if op.is_floating(x) else op.emit("Identity", x)

    return _of_x(function)


def _clip(least: str, greatest: str) -> Rule:
    """Between the values of two attributes."""
    return _of_x(lambda op, x: op.emit("Clip", x, op.attr(least), op.attr(greatest)))


def _square(op: Op, x: Value) -> Value:
    return op.emit("Mul", x, x)


def _relu6(op: Op, x: Value) -> Value:
    return op.emit("Clip", x, 0, op.attr("threshold"))


def _leaky_relu(op: Op, x: Value) -> Value:
    alpha = op.attr("alpha")
    if alpha <= 1:
        return op.emit("LeakyRelu", x, alpha=alpha)
    return op.emit("Max", x, op.emit("Mul", x, alpha))


def _hard_sigmoid(op: Op, x: Value) -> Value:
    return op.emit("HardSigmoid", x, alpha=op.attr("slope"), beta=op.attr("offset"))


def _gelu(op: Op, x: Value) -> Value:
    return op.emit("Gelu", x, approximate="tanh" if op.attr("approximate") else "none")


def _hard_shrink(op: Op, x: Value) -> Value:
    return op.emit("Shrink", x, lambd=op.attr("threshold"), bias=0.0)


def _softshrink(op: Op, x: Value) -> Value:
    return op.emit("Shrink", x, lambd=op.attr("lambda"), bias=op.attr("lambda"))


def _tanh_shrink(op: Op, x: Value) -> Value:
    return op.emit("Sub", x, op.emit("Tanh", x))


def _logsigmoid(op: Op, x: Value) -> Value:
    return op.emit("Neg", op.emit("Softplus", op.emit("Neg", x)))


def _soft_relu(op: Op, x: Value) -> Value:
    threshold = op.attr("threshold")
    return op.emit("Softplus", op.emit("Clip", x, -threshold, threshold))


def _silu(op: Op, x: Value) -> Value:
    return op.emit("Mul", x, op.emit("Sigmoid", x))


def _swish(op: Op, x: Value) -> Value:
    return op.emit("Mul", x, op.emit("Sigmoid", op.emit("Mul", x, op.attr("beta"))))


def _stanh(op: Op, x: Value) -> Value:
    scaled = op.emit("Mul", x, op.attr("scale_a"))
    return op.emit("Mul", op.emit("Tanh", scaled), op.attr("scale_b"))


def _pow(op: Op, x: Value) -> Value:
    return op.emit("Pow", x, constant(op.attr("factor"), x.dtype))


def _scale(op: Op, x: Value) -> Value:
    factor = op.attr("scale")
    if op.is_floating(x) or factor == int(factor):
        return op.emit("Mul", x, factor)
    return op.cast(op.emit("Mul", op.cast(x, "float64"), factor), x.dtype)


def _increment(op: Op, x: Value) -> Value:
    return op.emit("Add", x, op.attr("step"))


def _prelu(op: Op) -> None:
    x = op.input("X")
    slope = op.emit("Reshape", op.input("Alpha"), [1] * x.rank if x.rank else no_extents())
    op.set("Out", op.emit("PRelu", x, slope))


RULES: dict[str, Rule] = {
    **{
        name.lower(): _named(name)
        for name in (
            *("Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Abs", "Sin", "Cos", "Erf"),
            *("Reciprocal", "Sign", "Softplus", "Softsign", "Mish"),
        )
    },
    "elu": _named("Elu", alpha="alpha"),
    "leaky_relu": _of_x(_leaky_relu),
    "thresholded_relu": _named("ThresholdedRelu", alpha="threshold"),
    "ceil": _rounding("Ceil"),
    "floor": _rounding("Floor"),
    "round": _rounding("Round"),
    "clip": _clip("min", "max"),
    "brelu": _clip("t_min", "t_max"),
    "square": _of_x(_square),
    "relu6": _of_x(_relu6),
    "hard_sigmoid": _of_x(_hard_sigmoid),
    "gelu": _of_x(_gelu),
    "hard_shrink": _of_x(_hard_shrink),
    "softshrink": _of_x(_softshrink),
    "tanh_shrink": _of_x(_tanh_shrink),
    "logsigmoid": _of_x(_logsigmoid),
    "soft_relu": _of_x(_soft_relu),
    "silu": _of_x(_silu),
    "swish": _of_x(_swish),
    "stanh": _of_x(_stanh),
    "pow": _of_x(_pow),
    "scale": _of_x(_scale),
    "increment": _of_x(_increment),
    "prelu": _prelu,
}
