"""Random numbers: of the same distribution, but not the same numbers."""

from __future__ import annotations

from typing import Any

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.rules.fill import like_batch
from fluidcore.onnx.writing.shapes import Extent, extents, filled

_MOST = 2**24  # whole numbers that are drawn as float32


def _dropout(op: Op) -> None:
    x, kept = op.input("X"), 1 - op.attr("dropout_prob")
    op.set("Out", op.emit("Mul", x, kept))
    if op.wants("Mask"):
        op.set("Mask", filled(op, extents(op, x), x.dtype, kept))


def _draw(op: Op, op_type: str, shape: list[Extent], dtype: str, **attrs: Any) -> Value:
    if op.attr("seed"):
        attrs["seed"] = float(op.attr("seed"))
    drawn = "float64" if dtype == "float64" else "float32"
    if shape and all(isinstance(each, int) for each in shape):
        made = op.emit(op_type, shape=shape, dtype=drawn, **attrs)
    else:
        made = op.emit(f"{op_type}Like", filled(op, shape, drawn, 0), dtype=drawn, **attrs)
    return op.cast(made, dtype)


def _shape(op: Op) -> list[Extent]:
    return like_batch(op) if op.type.endswith("_batch_size_like") else list(op.attr("shape"))


def _gaussian(op: Op) -> None:
    attrs = {"mean": op.attr("mean"), "scale": op.attr("std")}
    dtype = op.declared("Out").dtype
    if not op.attr("std"):  # which ONNX Runtime does not take
        op.set("Out", filled(op, _shape(op), dtype, op.attr("mean")))
        return
    op.set("Out", _draw(op, "RandomNormal", _shape(op), dtype, **attrs))


def _uniform(op: Op) -> None:
    attrs = {"low": op.attr("min"), "high": op.attr("max")}
    op.set("Out", _draw(op, "RandomUniform", _shape(op), op.declared("Out").dtype, **attrs))


def _randint(op: Op) -> None:
    low, high = op.attr("low"), op.attr("high")
    if high - low > _MOST:
        op.refuse(f"high - low must be at most {_MOST} in ONNX, got {high - low}")
    attrs = {"low": 0.0, "high": float(high - low)}
    drawn = op.emit("Floor", _draw(op, "RandomUniform", _shape(op), "float32", **attrs))
    whole = op.emit("Min", op.cast(drawn, "int64"), high - low - 1)
    op.set("Out", op.cast(op.emit("Add", whole, low), op.declared("Out").dtype))


def _bernoulli(op: Op) -> None:
    x = op.input("X")
    # ONNX Runtime's Bernoulli draws 1 with the probability 1 - X.
    drawn = _draw(op, "RandomUniform", extents(op, x), "float32", low=0.0, high=1.0)
    op.set("Out", op.cast(op.emit("Less", drawn, op.cast(x, "float32")), x.dtype))


def _randperm(op: Op) -> None:
    """The order of random numbers."""
    count, dtype = op.attr("n"), op.declared("Out").dtype
    drawn = _draw(op, "RandomUniform", [count], "float32", low=0.0, high=1.0)
    _, order = op.emit_all("TopK", drawn, [count], outputs=2)
    op.set("Out", op.cast(order, dtype))


def _multinomial(op: Op) -> None:
    """The greatest of log(X) and random numbers of Gumbel's distribution.

    It is class i with the probability in proportion to X[i], and the k greatest are k classes drawn
    one after the other (Gumbel 1954; Vieira, Gumbel-max trick and weighted reservoir sampling,
    2014).
    """
    x, count = op.input("X"), op.attr("num_samples")
    weights = op.emit("Log", op.cast(x, "float32"))
    if op.attr("replacement"):
        shape = [*extents(op, x)[:-1], count, extents(op, x)[-1]]
        scores = op.emit("Add", op.emit("Unsqueeze", weights, [-2]), _gumbel(op, shape))
        op.set("Out", op.emit("ArgMax", scores, axis=-1, keepdims=0))
    else:
        scores = op.emit("Add", weights, _gumbel(op, extents(op, x)))
        op.set("Out", op.emit_all("TopK", scores, [count], axis=-1, outputs=2)[1])


def _gumbel(op: Op, shape: list[Extent]) -> Value:
    drawn = _draw(op, "RandomUniform", shape, "float32", low=0.0, high=1.0)
    return op.emit("Neg", op.emit("Log", op.emit("Neg", op.emit("Log", drawn))))


RULES: dict[str, Rule] = {
    "dropout": _dropout,
    "gaussian_random": _gaussian,
    "gaussian_random_batch_size_like": _gaussian,
    "uniform_random": _uniform,
    "uniform_random_batch_size_like": _uniform,
    "randint": _randint,
    "randint_batch_size_like": _randint,
    "bernoulli": _bernoulli,
    "randperm": _randperm,
    "multinomial": _multinomial,
}
