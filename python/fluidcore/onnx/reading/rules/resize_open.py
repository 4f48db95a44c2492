"""Resize where the extents of images are open: by whole numbers, which say it for every extent."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import append
from fluidcore.program import Variable

# number of spatial axes -> what the operator calls a mode for them
_MODES = {
    "nearest": {1: "nearest", 2: "nearest", 3: "nearest"},
    "linear": {1: "linear", 2: "bilinear", 3: "trilinear"},
    "cubic": {2: "bicubic"},
}
_ALIGNED = "align_corners"
# With whole scales these are one: element i lies at (i + 0.5) / scale - 0.5.
_CENTRED = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
_CUBIC_COEFFICIENT = -0.75


def resized_open(
    node: Node, x: Variable, scales: Sequence[float], repeats: Sequence[bool]
) -> Variable:
    """X with its spatial axes resized by one operator.

    Args:
        node: The node, whose attributes say how.
        x: [N, C, one to three spatial axes].
        scales: For each axis of X.
        repeats: For each axis of X, whether the nearest element of i is i // scale.
    """
    mode, points = node.attr("mode"), node.attr("coordinate_transformation_mode", "asymmetric")
    is_whole = all(scale >= 1 and scale == int(scale) for scale in scales)
    name = _MODES.get(mode.removeprefix("bi"), {}).get(len(scales) - 2)
    if not is_whole or tuple(scales[:2]) != (1.0, 1.0) or name is None:
        raise node.refuse(
            "the extents that change must be known, or be those of images and change by whole "
            "numbers",
            f"{list(x.shape)} by {list(scales)}; give dims or shapes to load",
        )
    fits = all(repeats) if mode == "nearest" else points in (*_CENTRED, _ALIGNED)
    if mode == "cubic":
        fits = fits and node.attr("cubic_coeff_a") == _CUBIC_COEFFICIENT
    if not fits or (mode != "nearest" and node.attr("exclude_outside", 0)):
        raise node.refuse(
            "the extents that change must be known for such points",
            f"{list(x.shape)} for {points}; give dims or shapes to load",
        )
    attrs = {"scale": list(scales[2:]), "mode": name, "align_corners": points == _ALIGNED}
    return append("interpolate", {"X": x}, attrs)
