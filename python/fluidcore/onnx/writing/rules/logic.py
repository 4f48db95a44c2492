"""Comparisons, and operators of bools."""

from __future__ import annotations

from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.rules.arithmetic import aligned, binary
from fluidcore.onnx.writing.shapes import as_extent_value, extents, product


def _not_equal(op: Op) -> None:
    op.set("Out", op.emit("Not", op.emit("Equal", *aligned(op))))


def _logical_not(op: Op) -> None:
    op.set("Out", op.emit("Not", op.input("X")))


def _isnan(op: Op) -> None:
    op.set("Out", op.emit("IsNaN", op.input("X")))


def _isinf(op: Op) -> None:
    op.set("Out", op.emit("IsInf", op.input("X")))


def _isfinite(op: Op) -> None:
    x = op.input("X")
    op.set("Out", op.emit("Not", op.emit("Or", op.emit("IsNaN", x), op.emit("IsInf", x))))


def _is_empty(op: Op) -> None:
    elements = product(op, [1, *extents(op, op.input("X"))])
    op.set("Out", op.emit("Equal", as_extent_value(elements), 0))


def _where(op: Op) -> None:
    condition, x, y = op.input("Condition"), op.input("X"), op.input("Y")
    if x.dtype == "bool":  # for which ONNX Runtime has no Where
        otherwise = op.emit("And", op.emit("Not", condition), y)
        op.set("Out", op.emit("Or", op.emit("And", condition, x), otherwise))
    else:
        op.set("Out", op.emit("Where", condition, x, y))


RULES: dict[str, Rule] = {
    "equal": binary("Equal"),
    "not_equal": _not_equal,
    "less_than": binary("Less"),
    "less_equal": binary("LessOrEqual"),
    "greater_than": binary("Greater"),
    "greater_equal": binary("GreaterOrEqual"),
    "logical_and": binary("And"),
    "logical_or": binary("Or"),
    "logical_xor": binary("Xor"),
    "logical_not": _logical_not,
    "isnan": _isnan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "is_empty": _is_empty,
    "where": _where,
}
