"""Losses of elements and of rows."""

from __future__ import annotations

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import matrix


def _sign_of_label(op: Op, label: Value) -> Value:
    """-1 and 1 for 0 and 1."""
    return op.emit("Sub", op.emit("Mul", label, 2), 1)


def _hinge_loss(op: Op) -> None:
    margin = op.emit("Mul", _sign_of_label(op, op.input("Labels")), op.input("Logits"))
    op.set("Loss", op.emit("Relu", op.emit("Sub", 1, margin)))


def _huber_loss(op: Op) -> None:
    delta = op.attr("delta")
    residual = op.emit("Sub", op.input("Y"), op.input("X"))
    size = op.emit("Abs", residual)
    parabola = op.emit("Mul", op.emit("Mul", residual, residual), 0.5)
    line = op.emit("Mul", op.emit("Sub", size, delta / 2), delta)
    op.set("Residual", residual)
    op.set("Out", op.emit("Where", op.emit("LessOrEqual", size, delta), parabola, line))


def _kl_div(op: Op) -> None:
    x, target = op.input("X"), op.input("Target")
    is_zero = op.emit("Equal", target, 0)
    logarithm = op.emit("Log", op.emit("Where", is_zero, 1, target))
    loss = op.emit("Mul", target, op.emit("Sub", logarithm, x))
    op.set("Loss", op.emit("Where", is_zero, 0, loss))


def _log_loss(op: Op) -> None:
    p, label, epsilon = op.input("Predicted"), op.input("Labels"), op.attr("epsilon")
    right = op.emit("Log", op.emit("Add", p, epsilon))
    wrong = op.emit("Log", op.emit("Add", op.emit("Sub", 1, p), epsilon))
    first = op.emit("Mul", label, right)
    second = op.emit("Mul", op.emit("Sub", 1, label), wrong)
    op.set("Loss", op.emit("Neg", op.emit("Add", first, second)))


def _margin_rank_loss(op: Op) -> None:
    apart = op.emit("Sub", op.input("X1"), op.input("X2"))
    short = op.emit("Sub", op.attr("margin"), op.emit("Mul", op.input("Label"), apart))
    op.set("Out", op.emit("Relu", short))
    op.set("Activated", op.cast(op.emit("Greater", short, 0), apart.dtype))


def _modified_huber_loss(op: Op) -> None:
    z = op.emit("Mul", _sign_of_label(op, op.input("Y")), op.input("X"))
    short = op.emit("Relu", op.emit("Sub", 1, z))
    parabola = op.emit("Mul", short, short)
    op.set("IntermediateVal", z)
    op.set("Out", op.emit("Where", op.emit("Less", z, -1), op.emit("Mul", z, -4), parabola))


def _rank_loss(op: Op) -> None:
    apart = op.emit("Sub", op.input("Left"), op.input("Right"))
    expected = op.emit("Mul", op.input("Label"), apart)
    op.set("Out", op.emit("Sub", _stable_softplus(op, apart), expected))


def _stable_softplus(op: Op, x: Value) -> Value:
    """log(1 + exp(X)), which a runtime may calculate as it is written."""
    small = op.emit("Exp", op.emit("Neg", op.emit("Abs", x)))
    return op.emit("Add", op.emit("Relu", x), op.emit("Log", op.emit("Add", small, 1)))


def _sigmoid_cross_entropy(op: Op) -> None:
    x, label = op.input("X"), op.input("Label")
    op.set("Out", op.emit("Sub", _stable_softplus(op, x), op.emit("Mul", x, label)))


def _smooth_l1_loss(op: Op) -> None:
    inside, outside = op.maybe("InsideWeight"), op.maybe("OutsideWeight")
    square = op.attr("sigma") ** 2
    diff = op.emit("Sub", op.input("X"), op.input("Y"))
    diff = diff if inside is None else op.emit("Mul", diff, inside)
    size = op.emit("Abs", diff)
    parabola = op.emit("Mul", op.emit("Mul", diff, diff), square / 2)
    line = op.emit("Sub", size, 0.5 / square)
    loss = op.emit("Where", op.emit("Less", size, 1 / square), parabola, line)
    loss = loss if outside is None else op.emit("Mul", loss, outside)
    loss.shape = op.input("X").shape
    op.set("Diff", diff)
    op.set("Out", op.emit("ReduceSum", matrix(op, loss, 1), [1], keepdims=1))


def _rows_beside(op: Op) -> tuple[Value, Value]:
    """X and Y as matrices; Y may be one row."""
    return matrix(op, op.input("X"), 1), matrix(op, op.input("Y"), 1)


def _cos_sim(op: Op) -> None:
    x, y = _rows_beside(op)
    x_norm, y_norm = (op.emit("ReduceL2", each, [1], keepdims=1) for each in (x, y))
    product = op.emit("ReduceSum", op.emit("Mul", x, y), [1], keepdims=1)
    op.set("Out", op.emit("Div", product, op.emit("Mul", x_norm, y_norm)))
    op.set("XNorm", x_norm)
    op.set("YNorm", y_norm)


def _squared_l2_distance(op: Op) -> None:
    diff = op.emit("Sub", *_rows_beside(op))
    op.set("sub_result", diff)
    op.set("Out", op.emit("ReduceSumSquare", diff, [1], keepdims=1))


RULES: dict[str, Rule] = {
    "hinge_loss": _hinge_loss,
    "huber_loss": _huber_loss,
    "kl_div": _kl_div,
    "log_loss": _log_loss,
    "margin_rank_loss": _margin_rank_loss,
    "modified_huber_loss": _modified_huber_loss,
    "rank_loss": _rank_loss,
    "sigmoid_cross_entropy_with_logits": _sigmoid_cross_entropy,
    "smooth_l1_loss": _smooth_l1_loss,
    "cos_sim": _cos_sim,
    "squared_l2_distance": _squared_l2_distance,
}
