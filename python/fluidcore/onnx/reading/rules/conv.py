"""Convolutions."""

from __future__ import annotations

from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import Result, Rules, append
from fluidcore.onnx.reading.rules.windows import Windows
from fluidcore.program import Variable


def conv(node: Node) -> Result:
    """A convolution over one, two or three axes."""
    x, kernel = node.var(0), node.var(1)
    axes = len(x.shape) - 2
    if axes not in (1, 2, 3) or len(kernel.shape) != axes + 2:
        raise node.refuse("the input must have one to three spatial axes", list(x.shape))
    windows = Windows.of(node, kernel.shape[2:], x.shape[2:])
    groups = node.attr("group")
    x, paddings = windows.padded(x)
    attrs = {
        "strides": windows.strides,
        "paddings": paddings,
        "dilations": windows.dilations,
        "groups": groups,
    }
    is_depthwise = axes == 2 and groups > 1 and groups == x.shape[1] == kernel.shape[0]
    op_type = "depthwise_conv2d" if is_depthwise else f"conv{axes}d"
    out = append(op_type, {"Input": x, "Filter": kernel}, attrs, out="Output")
    return _with_bias(node, out)


def _with_bias(node: Node, out: Variable) -> Variable:
    bias = node.optional_var(2)
    if bias is None:
        return out
    return append("elementwise_add", {"X": out, "Y": bias}, {"axis": 1})


def conv_transpose(node: Node) -> Result:
    """What a convolution does to gradients."""
    x, kernel = node.var(0), node.var(1)
    axes = len(x.shape) - 2
    if axes not in (1, 2, 3) or len(kernel.shape) != axes + 2:
        raise node.refuse("the input must have one to three spatial axes", list(x.shape))
    node.ignore("kernel_shape", "output_shape", "pads")
    extents = x.shape[2:]
    strides = node.attr("strides", [1] * axes)
    dilations = node.attr("dilations", [1] * axes)
    extra = node.attr("output_padding", [0] * axes)
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, kernel.shape[2:], strict=True)]
    full = [(n - 1) * s + span for n, s, span in zip(extents, strides, spans, strict=True)]
    begins, ends = _cuts(node, extents, strides, extra, full)
    attrs = {
        "strides": strides,
        "paddings": [0] * axes,
        "dilations": dilations,
        "groups": node.attr("group"),
    }
    # Where as much is cut off on both sides the operator does it.
    if begins == ends and all(cut >= 0 for cut in begins):
        attrs["paddings"], begins, ends = begins, [0] * axes, [0] * axes
    op_type = f"conv{axes}d_transpose"
    out = append(op_type, {"Input": x, "Filter": kernel}, attrs, out="Output")
    out = _cut(out, begins, ends)
    return _with_bias(node, out)


def _cuts(
    node: Node, extents: tuple[int, ...], strides: list[int], extra: list[int], full: list[int]
) -> tuple[list[int], list[int]]:
    """How many elements go at the beginning and at the end of each axis; fewer than 0 come."""
    axes = len(extents)
    wanted = node.attr("output_shape", None)
    mode = node.attr("auto_pad")
    if wanted is not None or mode in ("SAME_UPPER", "SAME_LOWER"):
        if -1 in extents:
            raise node.refuse("the spatial extents must be known", list(extents))
        if wanted is None:
            wanted = [n * s for n, s in zip(extents, strides, strict=True)]
        total = [f + e - w for f, e, w in zip(full, extra, wanted[-axes:], strict=True)]
        if mode != "NOTSET" and min(total) < 0:
            raise node.refuse(f"auto_pad {mode} must not add to a result of {full}", wanted)
        small = [max(cut, 0) // 2 for cut in total]
        large = [cut - half for cut, half in zip(total, small, strict=True)]
        if mode == "SAME_UPPER" or min(total) < 0:
            begins, ends = small, large
        else:
            begins, ends = large, small
    elif mode == "VALID":
        begins, ends = [0] * axes, [0] * axes
    else:
        pads = node.attr("pads", [0] * 2 * axes)
        begins, ends = list(pads[:axes]), list(pads[axes:])
    return begins, [end - more for end, more in zip(ends, extra, strict=True)]


def _cut(x: Variable, begins: list[int], ends: list[int]) -> Variable:
    """Without elements at the beginnings and ends of the spatial axes; zeros where below 0."""
    if any(end < 0 for end in ends):
        paddings = [0] * 4
        for end in ends:
            paddings += [0, max(-end, 0)]
        x = append("pad", {"X": x}, {"paddings": paddings})
        ends = [max(end, 0) for end in ends]
    axes = [i + 2 for i, (a, b) in enumerate(zip(begins, ends, strict=True)) if a or b]
    if not axes:
        return x
    starts = [begins[axis - 2] for axis in axes]
    stops = [-ends[axis - 2] or 2**31 - 1 for axis in axes]  # counted from the end
    return append("slice", {"X": x}, {"axes": axes, "starts": starts, "ends": stops})


RULES: Rules = {"Conv": conv, "ConvTranspose": conv_transpose}
