"""Reductions of dimensions."""

from __future__ import annotations

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import as_extent_value, extent, extents, lifted, product


def _axes(op: Op, x: Value) -> list[int]:
    """The dimensions that are reduced."""
    if op.attr("reduce_all"):
        return list(range(x.rank))
    said = op.attr("dim")
    axes = [said] if isinstance(said, int) else said
    return sorted({axis % x.rank for axis in axes}) if x.rank else []


def _reduced(op: Op, op_type: str, x: Value) -> Value:
    """The reduced value; [1] if no dimension is left."""
    axes = _axes(op, x)
    keeps = op.attr("keep_dim") and not op.attr("reduce_all")
    out = op.emit(op_type, x, axes, keepdims=int(keeps)) if axes else op.emit("Identity", x)
    return out if keeps or len(axes) < x.rank else op.emit("Reshape", out, [1])


def _reduce(op_type: str) -> Rule:
    def rule(op: Op) -> None:
        op.set("Out", _reduced(op, op_type, op.input("X")))

    return rule


def _reduce_bool(op_type: str) -> Rule:
    """As of whole numbers, which more than one runtime can do."""

    def rule(op: Op) -> None:
        whole = _reduced(op, op_type, op.cast(op.input("X"), "int32"))
        op.set("Out", op.emit("Greater", whole, 0))  # of nothing, it is far from 0

    return rule


def _reduce_mean(op: Op) -> None:
    x = op.input("X")
    if op.is_floating(x):
        op.set("Out", _reduced(op, "ReduceMean", x))
        return
    total = _reduced(op, "ReduceSum", x)  # in ONNX whole numbers have no mean
    count = as_extent_value(product(op, [extent(op, x, axis) for axis in _axes(op, x)]))
    if x.rank > len(_axes(op, x)) or op.attr("keep_dim"):
        count = op.emit("Squeeze", count, [0])
    op.set("Out", op.emit("Div", total, op.cast(count, x.dtype)))


def _mean(op: Op) -> None:
    op.set("Out", _whole(op, "ReduceMean", op.input("X")))


def _whole(op: Op, op_type: str, x: Value) -> Value:
    """The reduction of all elements, [1]."""
    return op.emit("Reshape", op.emit(op_type, x, keepdims=0), [1])


def _l1_norm(op: Op) -> None:
    op.set("Out", _whole(op, "ReduceSum", op.emit("Abs", op.input("X"))))


def _squared_l2_norm(op: Op) -> None:
    op.set("Out", _whole(op, "ReduceSumSquare", op.input("X")))


def _arg(op_type: str) -> Rule:
    def rule(op: Op) -> None:
        x = op.input("X")
        keeps = int(op.attr("keepdims") and x.rank > 0)
        op.set("Out", op.emit(op_type, lifted(op, x), axis=op.attr("axis"), keepdims=keeps))

    return rule


def _clip_by_norm(op: Op) -> None:
    x, most = op.input("X"), op.attr("max_norm")
    root = op.emit("Sqrt", op.emit("ReduceSumSquare", x, keepdims=0))
    is_longer = op.emit("Greater", root, most)
    divisor = op.emit("Where", is_longer, root, most)
    op.set("Out", op.emit("Where", is_longer, op.emit("Mul", x, op.emit("Div", most, divisor)), x))


def _label_smooth(op: Op) -> None:
    x, epsilon = op.input("X"), op.attr("epsilon")
    prior = op.maybe("PriorDist")
    kept = op.emit("Mul", x, 1 - epsilon)
    if prior is not None:
        op.set("Out", op.emit("Add", kept, op.emit("Mul", prior, epsilon)))
        return
    classes = extents(op, x)[-1]
    if isinstance(classes, int):
        op.set("Out", op.emit("Add", kept, epsilon / max(classes, 1)))
    else:
        op.set("Out", op.emit("Add", kept, op.emit("Div", epsilon, op.cast(classes, x.dtype))))


RULES: dict[str, Rule] = {
    "reduce_sum": _reduce("ReduceSum"),
    "reduce_max": _reduce("ReduceMax"),
    "reduce_min": _reduce("ReduceMin"),
    "reduce_prod": _reduce("ReduceProd"),
    "reduce_all": _reduce_bool("ReduceMin"),
    "reduce_any": _reduce_bool("ReduceMax"),
    "reduce_mean": _reduce_mean,
    "logsumexp": _reduce("ReduceLogSumExp"),
    "mean": _mean,
    "l1_norm": _l1_norm,
    "squared_l2_norm": _squared_l2_norm,
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
    "clip_by_norm": _clip_by_norm,
    "label_smooth": _label_smooth,
}
