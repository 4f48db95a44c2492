"""What puts the elements of windows back into images."""

from __future__ import annotations

import math

import numpy as np

from fluidcore import layers
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append, reshaped, transposed


def col2im(node: Node) -> Result:
    """Columns of windows, added up where they overlap."""
    x = node.var(0)
    image, block = node.ints(1), node.ints(2)
    axes = len(image)
    strides = node.attr("strides", [1] * axes)
    dilations = node.attr("dilations", [1] * axes)
    pads = node.attr("pads", [0] * 2 * axes)
    batch, columns, windows = node.known_shape(0)
    size, area = math.prod(block), math.prod(image)
    node.check_count(size * windows * axes)
    counts = [
        (n + pads[i] + pads[i + axes] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        for i, n in enumerate(image)
    ]
    channels = columns // size
    if channels * size != columns or math.prod(counts) != windows or min(counts) < 1:
        raise node.refuse(
            f"the input must be [N, C {size}, {math.prod(counts)}]", [batch, columns, windows]
        )
    places = np.zeros((size, windows), np.int64)
    inside = np.ones((size, windows), bool)
    for i, n in enumerate(image):
        offset = np.indices(block)[i].reshape(-1, 1) * dilations[i]
        start = np.indices(counts)[i].reshape(1, -1) * strides[i] - pads[i]
        at = offset + start
        inside &= (at >= 0) & (at < n)
        places = places * n + at
    places = np.where(inside, places, area)  # a row more for what is outside
    rows = transposed(reshaped(x, [batch * channels, size * windows]), [1, 0])
    inputs = {
        "X": layers.fill_constant([area + 1, batch * channels], x.dtype, 0.0),
        "Index": node.as_variable(constant(places.reshape(-1, 1))),
        "Updates": rows,
    }
    total = append("scatter_nd_add", inputs)
    total = append("slice", {"X": total}, {"axes": [0], "starts": [0], "ends": [area]})
    return reshaped(transposed(total, [1, 0]), [batch, channels, *image])


def max_unpool(node: Node) -> Result:
    """Maxima where they were, zeros elsewhere."""
    x, index = node.var(0), node.var(1)
    shape = node.known_shape(0)
    kernel = node.attr("kernel_shape")
    axes = len(kernel)
    strides = node.attr("strides", [1] * axes)
    pads = node.attr("pads", [0] * 2 * axes)
    spatial = [
        (shape[i + 2] - 1) * strides[i] - pads[i] - pads[i + axes] + kernel[i] for i in range(axes)
    ]
    if len(shape) != axes + 2 or min(spatial) < 1:
        raise node.refuse(f"the input must have {axes} spatial axes", list(shape))
    full = [*shape[:2], *spatial]
    inputs = {
        "Ref": layers.fill_constant([math.prod(full), 1], x.dtype, 0.0),
        "Index": reshaped(index, [-1]),
        "Updates": reshaped(x, [-1, 1]),
    }
    out = reshaped(append("scatter", inputs), full)
    wanted = node.ints(2) if node.has(2) else full
    if len(wanted) != len(full) or any(w < n for w, n in zip(wanted, full, strict=True)):
        raise node.refuse(f"output_shape must be at least {full}", wanted)
    paddings = [n for w, f in zip(wanted, full, strict=True) for n in (0, w - f)]
    return append("pad", {"X": out}, {"paddings": paddings}) if any(paddings) else out


RULES: Rules = {"Col2Im": col2im, "MaxUnpool": max_unpool}
