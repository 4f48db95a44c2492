"""Images with the channels last, which ONNX has first."""

from __future__ import annotations

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op
from fluidcore.onnx.writing.shapes import transposed


def has_channels_last(op: Op, attr: str = "data_format") -> bool:
    """Whether an attribute says so: "NHWC"."""
    return len(op.attr(attr)) <= 5 and str(op.attr(attr)).endswith("C")


def channels_first(op: Op, x: Value, is_last: bool) -> Value:
    """The image as ONNX wants it."""
    return transposed(op, x, [0, x.rank - 1, *range(1, x.rank - 1)]) if is_last else x


def as_before(op: Op, x: Value, rank: int, is_last: bool) -> Value:
    """The image as `channels_first` was given it."""
    return transposed(op, x, [0, *range(2, rank), 1]) if is_last else x
