"""Softmax and what is made of it: attention, losses of classes, the accuracy."""

from __future__ import annotations

import math

import numpy as np

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import Extent, extent, lifted, lowered, transposed

_LARGEST_LOSS = 1e20  # of a probability of 0


def _softmax(op: Op) -> None:
    x = op.input("X")
    op.set("Out", lowered(op, op.emit("Softmax", lifted(op, x), axis=-1), x.rank))


def _log_softmax(op: Op) -> None:
    x = op.input("X")
    op.set("Out", lowered(op, op.emit("LogSoftmax", lifted(op, x), axis=-1), x.rank))


def _picked(op: Op, x: Value, label: Value) -> tuple[Value, Value, Value]:
    """Elements [..., 1], those of the labels; which labels take no part; the labels, 0 there."""
    if label.rank < x.rank:
        label = op.emit("Unsqueeze", label, [-1])
    is_ignored = op.emit("Equal", label, op.attr("ignore_index"))
    classes = op.emit("Where", is_ignored, 0, label)
    return op.emit("GatherElements", x, classes, axis=x.rank - 1), is_ignored, classes


def _cross_entropy(op: Op) -> None:
    x, label = op.input("X"), op.input("Label")
    if op.attr("soft_label"):
        logarithm = op.emit("Max", op.emit("Log", x), -_LARGEST_LOSS)
        total = op.emit("ReduceSum", op.emit("Mul", label, logarithm), [-1], keepdims=1)
        op.set("Y", op.emit("Neg", total))
        return
    picked, is_ignored, _ = _picked(op, x, label)
    loss = op.emit("Min", op.emit("Neg", op.emit("Log", picked)), _LARGEST_LOSS)
    op.set("Y", op.emit("Where", is_ignored, 0, loss))


def _softmax_with_cross_entropy(op: Op) -> None:
    logits, label = op.input("Logits"), op.input("Label")
    if op.wants("Softmax"):
        op.set("Softmax", op.emit("Softmax", logits, axis=-1))
    logarithm = op.emit("LogSoftmax", logits, axis=-1)
    logarithm.shape = logits.shape
    if op.attr("soft_label"):
        total = op.emit("ReduceSum", op.emit("Mul", label, logarithm), [-1], keepdims=1)
        op.set("Loss", op.emit("Neg", total))
        return
    picked, is_ignored, _ = _picked(op, logarithm, label)
    op.set("Loss", op.emit("Where", is_ignored, 0, op.emit("Neg", picked)))


def _nll_loss(op: Op) -> None:
    x, label, weight = op.input("X"), op.input("Label"), op.maybe("Weight")
    picked, is_ignored, classes = _picked(op, x, label)
    zero_or_weight = op.emit("Where", is_ignored, 0, op.emit("Neg", picked))
    counted = None if weight is None else op.emit("Gather", weight, classes, axis=0)
    loss = zero_or_weight if counted is None else op.emit("Mul", zero_or_weight, counted)
    reduction = op.attr("reduction")
    if reduction == "none":
        op.set("Out", loss)
        return
    total = op.emit("Reshape", op.emit("ReduceSum", loss, keepdims=0), [1])
    if reduction == "mean":
        ones = op.emit("Add", op.emit("Mul", op.cast(classes, x.dtype), 0), 1)
        weights = op.emit("Where", is_ignored, 0, ones if counted is None else counted)
        total = op.emit("Div", total, op.emit("ReduceSum", weights, keepdims=0))
    op.set("Out", total)


def _accuracy(op: Op) -> None:
    indices, label = op.input("Indices"), op.cast(op.input("Label"), "int64")
    is_right = op.emit("Equal", indices, op.emit("Reshape", label, [-1, 1]))
    hits = op.emit("ReduceMax", op.cast(is_right, "int32"), [1], keepdims=0)
    correct = op.emit("ReduceSum", hits, [0], keepdims=1)
    total = op.cast(op.emit("Shape", indices, start=0, end=1), "int32")
    op.set("Correct", correct)
    op.set("Total", total)
    at_least_one = op.emit("Max", op.cast(total, "float32"), 1)
    op.set("Accuracy", op.emit("Div", op.cast(correct, "float32"), at_least_one))


def _attention(op: Op) -> None:
    q, k, v, mask = op.input("Q"), op.input("K"), op.input("V"), op.maybe("Mask")
    scores = op.emit("MatMul", _scaled(op, q), transposed(op, k, [0, 1, 3, 2]))
    if mask is not None:
        scores = op.emit("Add", scores, mask)
    if op.attr("causal"):
        is_seen = op.emit(
            "LessOrEqual",
            _numbers(op, extent(op, k, 2)),
            op.emit("Unsqueeze", _numbers(op, extent(op, q, 2)), [1]),
        )
        scores = op.emit("Where", is_seen, scores, -math.inf)
    weights = op.emit("Softmax", scores, axis=-1)
    best = op.emit("ReduceMax", scores, [-1], keepdims=1)
    sees_none = op.emit("Equal", best, -math.inf)
    if mask is not None:
        weights = op.emit("Where", sees_none, 0, weights)
    op.set("Out", op.emit("MatMul", weights, v))
    if op.wants("LogSumExp"):
        shifted = op.emit("Exp", op.emit("Sub", scores, op.emit("Where", sees_none, 0, best)))
        total = op.emit("Log", op.emit("ReduceSum", shifted, [-1], keepdims=1))
        logarithm = op.emit("Where", sees_none, math.inf, op.emit("Add", total, best))
        op.set("LogSumExp", op.emit("Squeeze", logarithm, [-1]))


def _scaled(op: Op, q: Value) -> Value:
    scale, depth = op.attr("scale"), extent(op, q, 3)
    if scale:
        return op.emit("Mul", q, scale)
    if isinstance(depth, int):
        return op.emit("Mul", q, 1 / math.sqrt(max(depth, 1)))
    return op.emit("Div", q, op.emit("Sqrt", op.cast(depth, q.dtype)))


def _numbers(op: Op, count: Extent) -> Value:
    """0, 1, ... as int64 [count]."""
    if isinstance(count, int):
        return op.emit("Identity", np.arange(count))
    return op.emit("Range", np.int64(0), op.emit("Squeeze", count, [0]), np.int64(1))


RULES: dict[str, Rule] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "cross_entropy": _cross_entropy,
    "softmax_with_cross_entropy": _softmax_with_cross_entropy,
    "nll_loss": _nll_loss,
    "accuracy": _accuracy,
    "scaled_dot_product_attention": _attention,
}
