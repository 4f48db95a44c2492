"""Pools: the maximum, the mean or the norm of windows."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from fluidcore import layers
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append, binary
from fluidcore.onnx.reading.rules.reduce import lp_norm
from fluidcore.onnx.reading.rules.windows import Windows
from fluidcore.onnx.reading.values import Array
from fluidcore.program import Variable

_LARGEST = 1024  # extent of a window that is gone through element by element


def _extents(node: Node, windows: Windows, inside: tuple[int, ...], up: bool) -> list[int]:
    """The spatial extents of the result: windows that begin behind X do not count."""
    found = []
    for n, k, s, d, begin, end in zip(inside, *windows, strict=True):
        room = n + begin + end - (d * (k - 1) + 1)
        if room < 0:
            raise node.refuse("windows must fit into the input", f"{k} for an extent of {n}")
        count = (-(-room // s) if up else room // s) + 1
        if up and (count - 1) * s >= n + begin:
            count -= 1
        found.append(count)
    return found


class _Pool:
    """One pooling node.

    Args:
        node: The node.
        x: What is pooled.
    """

    def __init__(self, node: Node, x: Variable) -> None:
        self.node = node
        self.x = x
        self.axes = len(x.shape) - 2
        if self.axes < 1:
            raise node.refuse("the input must have a spatial axis", list(x.shape))
        kernel = node.attr("kernel_shape")
        self.windows = Windows.of(node, kernel, x.shape[2:])
        self.inside = x.shape[2:]
        self.ceil = bool(node.attr("ceil_mode", 0))

    @property
    def is_plain(self) -> bool:
        """Whether an operator of fluidcore does it."""
        windows = self.windows
        fits = all(p < k for p, k in zip(windows.begins, windows.kernel, strict=True))
        return (
            self.axes <= 3
            and windows.begins == windows.ends
            and set(windows.dilations) == {1}
            and fits
            and not self.ceil
        )

    def by_operator(self, kind: str) -> Variable:
        """The pool as one operator."""
        attrs = {
            "pooling_type": kind,
            "ksize": self.windows.kernel,
            "strides": self.windows.strides,
            "paddings": self.windows.begins,
        }
        return append(f"pool{self.axes}d", {"X": self.x}, attrs)

    def by_elements(self, x: Variable, op_type: str, outside: float) -> Variable:
        """The elements of windows combined one after the other, each a slice of X with steps.

        It goes axis by axis: an extreme of extremes, a sum of sums.
        """
        if -1 in self.inside:
            raise self.node.refuse("the spatial extents must be known", list(x.shape))
        windows = self.windows
        if max(windows.kernel) > _LARGEST:
            raise self.node.refuse(f"windows must be at most {_LARGEST} long", windows.kernel)
        extents = _extents(self.node, windows, self.inside, self.ceil)
        for axis, (n, k, s, d, begin, _) in enumerate(zip(self.inside, *windows, strict=True)):
            span = (extents[axis] - 1) * s + d * (k - 1) + 1
            x = _padded(x, axis + 2, begin, max(0, span - n - begin), outside)
            parts = []
            for start in range(0, d * k, d):
                stop = start + (extents[axis] - 1) * s + 1
                attrs = {"axes": [axis + 2], "starts": [start], "ends": [stop], "strides": [s]}
                parts.append(append("strided_slice", {"X": x}, attrs))
            x = reduce(lambda a, b: binary(op_type, a, b), parts)
        return x

    def counts(self, include_pad: bool) -> Array:
        """How many elements count in each window, [1, 1, ...]."""
        windows = self.windows
        extents = _extents(self.node, windows, self.inside, self.ceil)
        self.node.check_count(math.prod(extents) + sum(extents) * max(windows.kernel))
        found = np.ones((1, 1, *extents))
        for axis, (n, k, s, d, begin, end) in enumerate(zip(self.inside, *windows, strict=True)):
            at = np.arange(extents[axis])[:, None] * s - begin + np.arange(k)[None] * d
            low, high = (-begin, n + end) if include_pad else (0, n)
            number = ((at >= low) & (at < high)).sum(1)
            shape = [1] * (self.axes + 2)
            shape[axis + 2] = -1
            found = found * number.reshape(shape)
        return found


def _padded(x: Variable, axis: int, begin: int, end: int, value: float) -> Variable:
    if begin == end == 0:
        return x
    paddings = [0] * (2 * len(x.shape))
    paddings[2 * axis : 2 * axis + 2] = begin, end
    return append("pad", {"X": x}, {"paddings": paddings, "pad_value": value})


def max_pool(node: Node) -> Result:
    """The maximum of each window, and where it is."""
    x = node.var(0)
    pool = _Pool(node, x)
    node.ignore("storage_order")
    if node.wants(1):
        return _with_indices(pool)
    if pool.is_plain:
        return pool.by_operator("max")
    return pool.by_elements(x, "elementwise_max", -math.inf)


def _with_indices(pool: _Pool) -> Result:
    node, x = pool.node, pool.x
    if pool.axes != 2 or not pool.is_plain:
        raise node.refuse("indices must be of a plain pool over two axes", list(x.shape))
    batch, channels, height, width = node.known_shape(0)
    best, mask = layers.max_pool2d_with_index(
        x,
        pool.windows.kernel,
        strides=pool.windows.strides,
        paddings=pool.windows.begins,
    )
    where = layers.cast(mask, "int64")
    if node.attr("storage_order", 0):
        extent = layers.fill_constant([], "int64", width)
        column = append("elementwise_mod", {"X": where, "Y": extent})
        row = append("elementwise_floordiv", {"X": where, "Y": extent})
        where = binary("elementwise_add", append("scale", {"X": column}, {"scale": height}), row)
    node.check_count(batch * channels)
    planes = np.arange(batch * channels, dtype=np.int64).reshape(batch, channels, 1, 1)
    offset = node.as_variable(constant(planes * height * width))
    return [best, binary("elementwise_add", where, offset)]


def average_pool(node: Node) -> Result:
    """The mean of each window."""
    x = node.var(0)
    pool = _Pool(node, x)
    include = bool(node.attr("count_include_pad", 0))
    if pool.is_plain and (not include or not any(pool.windows.begins)):
        return pool.by_operator("avg")
    total = pool.by_elements(x, "elementwise_add", 0.0)
    counts = pool.counts(include)
    divisor = node.as_variable(constant(counts, numpy_dtype(x.dtype)))
    return binary("elementwise_div", total, divisor)


def lp_pool(node: Node) -> Result:
    """The p-norm of each window."""
    x = node.var(0)
    p = float(node.attr("p"))
    powers = append("pow", {"X": append("abs", {"X": x})}, {"factor": p})
    total = _Pool(node, x).by_elements(powers, "elementwise_add", 0.0)
    return append("pow", {"X": total}, {"factor": 1.0 / p})


def global_lp_pool(node: Node) -> Result:
    """The p-norm of each channel."""
    x = node.var(0)
    return lp_norm(node, x, list(range(2, len(x.shape))))


RULES: Rules = {
    "AveragePool": average_pool,
    "GlobalLpPool": global_lp_pool,
    "LpPool": lp_pool,
    "MaxPool": max_pool,
}
