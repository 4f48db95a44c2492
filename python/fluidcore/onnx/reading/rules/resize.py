"""Resize: images and other tensors at other points, axis by axis.

Along an axis each element of the result is a sum of elements of X with weights that are known while
the model is read, so that an axis is a product with a matrix; nearest elements are an index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append, axis_last, transposed
from fluidcore.onnx.reading.rules.resize_open import resized_open
from fluidcore.onnx.reading.values import Array, Number
from fluidcore.program import Variable

_ROUND: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
# Coordinates that depend on the extent, not on the scale alone.
_OF_EXTENT = ("align_corners", "tf_crop_and_resize")


@dataclass(frozen=True)
class _Axis:
    """How one axis is resized."""

    extent: int
    size: int
    scale: float
    region: tuple[float, float]


def _points(node: Node, axis: _Axis) -> Array:
    """Where the elements of the result are on the axis of X."""
    mode = node.attr("coordinate_transformation_mode")
    out = np.arange(axis.size, dtype=np.float64)
    n, scale = axis.extent, axis.scale
    size = scale * n  # not rounded: so the tests of ONNX have it for aligned corners
    if mode == "asymmetric":
        return out / scale
    if mode == "half_pixel":
        return (out + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        adjustment = axis.size / size
        return n / 2 * (1 - adjustment) + (out + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (out + 0.5) / scale - 0.5 if axis.size > 1 else out * 0
    if mode == "align_corners":
        return out * (n - 1) / (size - 1) if size > 1 else out * 0
    if mode == "tf_half_pixel_for_nn":
        return np.asarray((out + 0.5) / scale)
    if mode == "tf_crop_and_resize":
        start, end = axis.region
        if size > 1:
            return start * (n - 1) + out * (end - start) * (n - 1) / (size - 1)
        return out * 0 + 0.5 * (start + end) * (n - 1)
    raise node.refuse(
        "attribute coordinate_transformation_mode must be one that ONNX names", repr(mode)
    )


def _kernel(node: Node, distance: Array) -> Array:
    """The weight of an element at a distance."""
    far = np.abs(distance)
    if node.attr("mode") == "linear":
        return np.asarray(np.maximum(1 - far, 0))
    a = float(node.attr("cubic_coeff_a"))
    near = ((a + 2) * far - (a + 3)) * far * far + 1
    tail = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return np.where(far <= 1, near, np.where(far < 2, tail, 0.0))


def _weights(node: Node, axis: _Axis, points: Array) -> Array:
    """[size, extent]: what each element of X counts in each of the result."""
    reach = 1 if node.attr("mode") == "linear" else 2
    stretch = 1.0
    if node.attr("antialias", 0) and axis.scale < 1:
        stretch = 1 / axis.scale
    span = math.ceil(reach * stretch)
    first = np.floor(points).astype(int) - span + 1
    near = first[:, None] + np.arange(2 * span)[None]
    weights = _kernel(node, (near - points[:, None]) / stretch)
    if node.attr("exclude_outside", 0):
        weights = np.where((near < 0) | (near >= axis.extent), 0.0, weights)
    if stretch != 1.0 or node.attr("exclude_outside", 0):
        weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((axis.size, axis.extent))
    rows = np.broadcast_to(np.arange(axis.size)[:, None], near.shape)
    np.add.at(matrix, (rows, np.clip(near, 0, axis.extent - 1)), weights)
    return matrix


def _resized(node: Node, x: Variable, dim: int, axis: _Axis) -> Variable:
    node.check_count(axis.size * (axis.extent if node.attr("mode") != "nearest" else 1))
    points = _points(node, axis)
    outside = (points < 0) | (points > axis.extent - 1)
    crops = node.attr("coordinate_transformation_mode") == "tf_crop_and_resize"
    mode = node.attr("mode")
    if mode == "nearest" and not crops:
        rounded = _ROUND[node.attr("nearest_mode")](points)
        index = constant(np.clip(rounded, 0, axis.extent - 1), np.int64)
        inputs = {"X": x, "Index": node.as_variable(index)}
        return append("index_select", inputs, {"axis": dim})
    if mode not in ("linear", "cubic"):
        raise node.refuse("attribute mode must be linear or cubic for crops", repr(mode))
    matrix = _weights(node, axis, points)
    value = float(node.attr("extrapolation_value", 0.0))
    if crops and outside.any():
        if value != 0.0:
            raise node.refuse("attribute extrapolation_value must be 0", value)
        matrix[outside] = 0.0
    perm = axis_last(len(x.shape), dim)
    weights = node.as_variable(constant(matrix, numpy_dtype(x.dtype)))
    rows = transposed(x, perm)
    out = append("matmul", {"X": rows, "Y": weights}, {"transpose_Y": True})
    return transposed(out, perm)


def _repeats(node: Node, scale: float) -> bool:
    """Whether the nearest elements are each one of X as often as a scale says.

    Points of a whole scale go on as they began, so that a few of them show it.
    """
    if node.attr("mode") != "nearest" or node.attr("coordinate_transformation_mode") in _OF_EXTENT:
        return False
    axis = _Axis(4, int(4 * scale), scale, (0.0, 1.0))
    nearest = np.clip(_ROUND[node.attr("nearest_mode")](_points(node, axis)), 0, 3)
    return bool(np.array_equal(nearest, np.arange(axis.size) // scale))


def resize(node: Node) -> Result:
    """X at other points."""
    if node.opset < 11:
        return upsample(node)
    node.ignore("cubic_coeff_a", "exclude_outside", "extrapolation_value", "nearest_mode")
    node.ignore("antialias", "keep_aspect_ratio_policy", "coordinate_transformation_mode", "mode")
    x = node.var(0)
    rank = len(x.shape)
    axes = node.dimensions(node.attr("axes", list(range(rank))), rank)
    sizes_at, scales_at, roi_at = 3, 2, 1
    extents = [x.shape[i] for i in axes]
    if node.has(sizes_at) and node.shape(sizes_at) != (0,):
        sizes = _sizes(node, sizes_at, [node.open_shape(0)[i] for i in axes])
        scales = _scales_of(node, sizes, extents)
        sizes = _kept(node, sizes, scales, extents)
    else:
        scales = [float(each) for each in node.constant(scales_at).ravel()]
        sizes = [
            math.floor(n * scale) if n >= 0 else -1
            for n, scale in zip(extents, scales, strict=True)
        ]
    region = _region(node, roi_at, len(axes))
    changes = [
        scales[i] != 1.0 or sizes[i] != extents[i] or region[i] != (0.0, 1.0)
        for i in range(len(axes))
    ]
    if any(change and extent < 0 for change, extent in zip(changes, extents, strict=True)):
        by_axis = dict(zip(axes, scales, strict=True))
        every = [by_axis.get(i, 1.0) for i in range(rank)]
        return resized_open(node, x, every, [_repeats(node, scale) for scale in every])
    for i, dim in enumerate(axes):
        if not changes[i]:
            continue
        x = _resized(node, x, dim, _Axis(extents[i], sizes[i], scales[i], region[i]))
    return x if x is not node.value(0) else append("assign", {"X": x})


def _sizes(node: Node, index: int, extents: Sequence[Number]) -> list[int]:
    """The extents that are asked for; -1 for an open one, which stays as it is."""
    wanted = node.extents(index)
    for want, have in zip(wanted, extents, strict=True):
        if want != have and not (isinstance(want, int) and isinstance(have, int)):
            raise node.refuse("the extents that change must be known", f"{want} for {have}")
    return [want if isinstance(want, int) else -1 for want in wanted]


def _scales_of(node: Node, sizes: Sequence[int], extents: Sequence[int]) -> list[float]:
    scales = [
        1.0 if n < 0 or n == size else size / n for size, n in zip(sizes, extents, strict=True)
    ]
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return scales
    chosen = min(scales) if policy == "not_larger" else max(scales)
    return [chosen] * len(scales)


def _kept(
    node: Node, sizes: Sequence[int], scales: Sequence[float], extents: Sequence[int]
) -> list[int]:
    """The sizes, those that the policy of aspect ratios makes of them."""
    if node.attr("keep_aspect_ratio_policy", "stretch") == "stretch":
        return list(sizes)
    return [math.floor(scale * n + 0.5) for scale, n in zip(scales, extents, strict=True)]


def _region(node: Node, roi_at: int, count: int) -> list[tuple[float, float]]:
    crops = node.attr("coordinate_transformation_mode", "") == "tf_crop_and_resize"
    if not crops or not node.has(roi_at):
        return [(0.0, 1.0)] * count
    roi = [float(each) for each in node.constant(roi_at).ravel()]
    if len(roi) != 2 * count:
        raise node.refuse(f"the region must have {2 * count} numbers", roi)
    return list(zip(roi[:count], roi[count:], strict=True))


def upsample(node: Node) -> Result:
    """Resize as it was before: asymmetric, nearest elements rounded down."""
    x = node.var(0)
    mode = node.attr("mode")
    scales = node.attr("scales", None)
    scales = [float(s) for s in (node.constant(1).ravel() if scales is None else scales)]
    if any(scale != 1.0 and n < 0 for scale, n in zip(scales, x.shape, strict=True)):
        return resized_open(node, x, scales, [True] * len(scales))
    for dim, scale in enumerate(scales):
        extent = x.shape[dim]
        if scale == 1.0:
            continue
        size = math.floor(extent * scale)
        node.check_count(size * (extent if mode != "nearest" else 1))
        points = np.arange(size) / scale
        if mode == "nearest":
            index = node.as_variable(constant(np.floor(points), np.int64))
            x = append("index_select", {"X": x, "Index": index}, {"axis": dim})
            continue
        if mode not in ("linear", "bilinear"):
            raise node.refuse("attribute mode must be 'nearest' or 'linear'", repr(mode))
        low = np.minimum(np.floor(points), extent - 1).astype(int)
        matrix = np.zeros((size, extent))
        rows = np.arange(size)
        np.add.at(matrix, (rows, low), 1 - (points - low))
        np.add.at(matrix, (rows, np.minimum(low + 1, extent - 1)), points - low)
        perm = axis_last(len(x.shape), dim)
        weights = node.as_variable(constant(matrix, numpy_dtype(x.dtype)))
        out = append("matmul", {"X": transposed(x, perm), "Y": weights}, {"transpose_Y": True})
        x = transposed(out, perm)
    return x if x is not node.value(0) else append("assign", {"X": x})


def grid_sample(node: Node) -> Result:
    """Images seen at the points of a grid."""
    x, grid = node.var(0), node.var(1)
    if len(x.shape) != 4:
        raise node.refuse("the input must be [N, C, H, W]", list(x.shape))
    modes = {"linear": "bilinear", "cubic": "bicubic"}
    mode = node.attr("mode")
    attrs = {
        "mode": modes.get(mode, mode),
        "padding_mode": node.attr("padding_mode"),
        "align_corners": node.flag("align_corners"),
    }
    return append("grid_sample", {"X": x, "Grid": grid}, attrs)


RULES: Rules = {"GridSample": grid_sample, "Resize": resize, "Upsample": upsample}
