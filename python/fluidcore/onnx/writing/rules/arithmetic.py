"""Arithmetic of two tensors, element by element."""

from __future__ import annotations

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule


def aligned(op: Op) -> tuple[Value, Value]:
    """X and Y so that they broadcast as NumPy's do: Fluid's `axis` is where Y begins in X."""
    x, y = op.input("X"), op.input("Y")
    axis = op.attr("axis")
    missing = x.rank - axis - y.rank if axis >= 0 and y.shape != (1,) else 0
    if missing > 0:
        y = op.emit("Unsqueeze", y, list(range(y.rank, y.rank + missing)))
    return x, y


def binary(op_type: str) -> Rule:
    """The rule of an operator that ONNX has."""

    def rule(op: Op) -> None:
        op.set("Out", op.emit(op_type, *aligned(op)))

    return rule


def _safe(op: Op, y: Value) -> tuple[Value, Value]:
    """Where whole numbers are 0, and the numbers with 1 there."""
    is_zero = op.emit("Equal", y, 0)
    return is_zero, op.emit("Where", is_zero, 1, y)


def _div(op: Op) -> None:
    x, y = aligned(op)
    if op.is_floating(x):
        op.set("Out", op.emit("Div", x, y))
        return
    is_zero, divisor = _safe(op, y)
    op.set("Out", op.emit("Where", is_zero, 0, op.emit("Div", x, divisor)))


def _floordiv(op: Op) -> None:
    x, y = aligned(op)
    if op.is_floating(x):
        op.set("Out", op.emit("Floor", op.emit("Div", x, y)))
        return
    is_zero, divisor = _safe(op, y)
    whole = op.emit("Sub", x, op.emit("Mod", x, divisor))
    op.set("Out", op.emit("Where", is_zero, 0, op.emit("Div", whole, divisor)))


def _mod(op: Op) -> None:
    x, y = aligned(op)
    if op.is_floating(x):
        whole = op.emit("Mul", y, op.emit("Floor", op.emit("Div", x, y)))
        op.set("Out", op.emit("Sub", x, whole))
        return
    op.set("Out", op.emit("Mod", x, _safe(op, y)[1]))


def _pow(op: Op) -> None:
    x, y = aligned(op)
    if op.is_floating(x):
        op.set("Out", op.emit("Pow", x, y))
        return
    power = op.emit("Pow", x, op.emit("Abs", y))
    is_unit = op.emit("Equal", op.emit("Abs", x), 1)
    is_whole = op.emit("Or", op.emit("GreaterOrEqual", y, 0), is_unit)
    op.set("Out", op.emit("Where", is_whole, power, 0))


def _minus(op: Op) -> None:
    op.set("Out", op.emit("Sub", op.input("X"), op.input("Y")))


def _sum(op: Op) -> None:
    total, *others = op.inputs("X")
    for value in others:
        total = op.emit("Add", total, value)
    op.set("Out", total)


RULES: dict[str, Rule] = {
    "elementwise_add": binary("Add"),
    "elementwise_sub": binary("Sub"),
    "elementwise_mul": binary("Mul"),
    "elementwise_max": binary("Max"),
    "elementwise_min": binary("Min"),
    "elementwise_div": _div,
    "elementwise_floordiv": _floordiv,
    "elementwise_mod": _mod,
    "elementwise_pow": _pow,
    "minus": _minus,
    "sum": _sum,
}
