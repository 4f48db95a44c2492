"""Discrete Fourier transforms, as products with matrices that are known while the model is read."""

from __future__ import annotations

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append, reshaped, transposed
from fluidcore.onnx.reading.values import Array


def dft(node: Node) -> Result:
    """The transform along an axis of numbers whose parts, one or two, are the last dimension."""
    x = node.var(0)
    rank = len(x.shape)
    if node.opset < 20:
        axis = node.axis("axis", rank)
    else:
        axis = node.dimension(int(node.number(2)) if node.has(2) else -2, rank)
    inverse, onesided = node.flag("inverse"), node.flag("onesided")
    extent, parts = x.shape[axis], x.shape[-1]
    if axis == rank - 1 or parts not in (1, 2) or extent < 1:
        raise node.refuse("the input must be [..., extent, 1 or 2] along the axis", list(x.shape))
    length = 2 * (extent - 1) if inverse and onesided else extent
    if node.has(1):
        length = int(node.number(1))
    if length < 1:
        raise node.refuse("the transform must have a length of at least 1", length)
    node.check_count(4 * length * extent)
    matrix = _matrix(extent, parts, length, inverse, onesided)
    results, out_parts = matrix.shape[2:]
    others = [i for i in range(rank - 1) if i != axis]
    rows = transposed(x, [*others, axis, rank - 1])
    lead = [x.shape[i] for i in others]
    rows = reshaped(rows, [*lead, extent * parts])
    weights = constant(matrix.reshape(extent * parts, -1), numpy_dtype(x.dtype))
    out = append("matmul", {"X": rows, "Y": node.as_variable(weights)})
    out = reshaped(out, [*lead, results, out_parts])
    back = [0] * rank
    for place, dimension in enumerate([*others, axis, rank - 1]):
        back[dimension] = place
    return transposed(out, back)


def _matrix(extent: int, parts: int, length: int, inverse: bool, onesided: bool) -> Array:
    """[extent, parts, results, parts of them]: what each number counts in each of the results."""
    back = inverse and onesided  # of a half spectrum to real numbers
    used = np.arange(min(extent, length // 2 + 1 if back else length))
    results = length // 2 + 1 if onesided and not inverse else length
    angle = 2 * np.pi * (np.outer(used, np.arange(results)) % length) / length
    cosine, sine = np.cos(angle), np.sin(angle) * (-1 if inverse else 1)
    found = np.zeros((extent, 2, results, 2))
    found[used, 0, :, 0], found[used, 0, :, 1] = cosine, -sine
    found[used, 1, :, 0], found[used, 1, :, 1] = sine, cosine
    if inverse:
        found /= length
    if back:  # all but the first, and the last of an even length, stand for two
        twice = np.where((used == 0) | (2 * used == length), 1.0, 2.0)
        found[used] *= twice[:, None, None, None]
        found = found[..., :1]
    return found[:, :parts]


RULES: Rules = {"DFT": dft}
