"""Images at other points."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidcore.onnx.writing.graph import Value
from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.shapes import Extent, as_value, extents


def _interpolate(op: Op) -> None:
    x, mode = op.input("X"), op.attr("mode")
    batch, channels, *plane = extents(op, x)
    if op.attr("size"):
        wanted: list[Extent] = list(op.attr("size"))
    else:
        wanted = [
            _scaled(op, extent, scale)
            for extent, scale in zip(plane, op.attr("scale"), strict=True)
        ]
    sizes = as_value(op, [batch, channels, *wanted])
    axes = {}
    if isinstance(sizes, Value):  # the images alone, whose extents may be known
        sizes, axes = as_value(op, wanted), {"axes": list(range(2, x.rank))}
    attrs: dict[str, Any]
    if mode == "nearest":
        attrs = {
            "mode": "nearest",
            "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        }
    else:
        corners = "align_corners" if op.attr("align_corners") else "half_pixel"
        attrs = {
            "mode": "cubic" if mode == "bicubic" else "linear",
            "coordinate_transformation_mode": corners,
        }
    op.set("Out", op.emit("Resize", x, None, None, sizes, **axes, **attrs))


def _scaled(op: Op, extent: Extent, scale: float) -> Extent:
    if isinstance(extent, int):
        return int(np.floor(extent * scale))
    return op.cast(op.emit("Floor", op.emit("Mul", op.cast(extent, "float64"), scale)), "int64")


def _grid_sample(op: Op) -> None:
    if any(op.attr("derivative")):
        op.refuse(f"derivative must be [0, 0] to have an ONNX form, got {op.attr('derivative')}")
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(op.attr("mode"), op.attr("mode"))
    attrs = {
        "mode": mode,
        "padding_mode": op.attr("padding_mode"),
        "align_corners": int(op.attr("align_corners")),
    }
    op.set("Out", op.emit("GridSample", op.input("X"), op.input("Grid"), **attrs))


def _det(op: Op) -> None:
    op.set("Out", op.emit("Det", op.input("X")))


RULES: dict[str, Rule] = {
    "interpolate": _interpolate,
    "grid_sample": _grid_sample,
    "det": _det,
}
