"""Tensors that are made of numbers."""

from __future__ import annotations

import numpy as np

from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.onnx.writing.graph import Array, Value, constant
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import Extent, extent, extents, filled


def like_batch(op: Op) -> list[Extent]:
    """The shape of an operator that takes an extent from its input."""
    shape: list[Extent] = list(op.attr("shape"))
    x = op.input("Input")
    shape[op.attr("output_dim_idx")] = extent(op, x, op.attr("input_dim_idx"))
    return shape


def _fill_constant(op: Op) -> None:
    op.set("Out", filled(op, op.attr("shape"), op.declared("Out").dtype, op.attr("value")))


def _fill_like_batch(op: Op) -> None:
    op.set("Out", filled(op, like_batch(op), op.declared("Out").dtype, op.attr("value")))


def _fill_like(op: Op) -> None:
    x = op.input("X")
    value = op.attr("value") if op.type == "fill_any_like" else 0
    op.set("Out", filled(op, extents(op, x), op.declared("Out").dtype, value))


def _assign_value(op: Op) -> None:
    dtype = op.declared("Out").dtype
    values = op.attr("fp32_values" if dtype in FLOATING else "int32_values")
    op.set("Out", constant(np.array(values, numpy_dtype(dtype)).reshape(op.attr("shape"))))


def _made_by(op: Op, numbers: Array) -> Value:
    return constant(numbers, op.declared("Out").dtype)


def _arange(op: Op) -> None:
    count = op.declared("Out").shape[0]
    numbers = op.attr("start") + op.attr("step") * np.arange(count, dtype=np.float64)
    op.set("Out", _made_by(op, numbers))


def _linspace(op: Op) -> None:
    numbers = np.linspace(op.attr("start"), op.attr("stop"), op.attr("num"), dtype=np.float64)
    op.set("Out", _made_by(op, numbers))


def _eye(op: Op) -> None:
    rows, columns = op.declared("Out").shape
    op.set("Out", _made_by(op, np.eye(rows, columns)))


def _one_hot(op: Op) -> None:
    x, dtype = op.input("X"), op.declared("Out").dtype
    depth = op.attr("depth")
    numbers = op.emit("Squeeze", x, [-1]) if x.rank else x
    places = constant(np.arange(depth), x.dtype)
    is_here = op.emit("Equal", op.emit("Unsqueeze", numbers, [-1]), places)
    op.set("Out", op.cast(is_here, dtype))


RULES: dict[str, Rule] = {
    "fill_constant": _fill_constant,
    "fill_constant_batch_size_like": _fill_like_batch,
    "fill_any_like": _fill_like,
    "fill_zeros_like": _fill_like,
    "assign_value": _assign_value,
    "arange": _arange,
    "linspace": _linspace,
    "eye": _eye,
    "one_hot": _one_hot,
}
