"""Convolutions."""

from __future__ import annotations

from fluidcore.onnx.writing.operator import Op, Rule
from fluidcore.onnx.writing.rules.channels import as_before, channels_first, has_channels_last


def _convolution(op_type: str, is_depthwise: bool = False) -> Rule:
    def rule(op: Op) -> None:
        is_last = has_channels_last(op)
        x = channels_first(op, op.input("Input"), is_last)
        assert x.shape is not None
        if is_depthwise and x.shape[1] == -1:
            op.refuse(f"the number of channels must be known, got Input {list(x.shape)}")
        pads = op.attr("paddings")
        out = op.emit(
            op_type,
            x,
            op.input("Filter"),
            strides=op.attr("strides"),
            pads=[*pads, *pads],
            dilations=op.attr("dilations"),
            group=x.shape[1] if is_depthwise else op.attr("groups"),
        )
        op.set("Output", as_before(op, out, x.rank, is_last))

    return rule


RULES: dict[str, Rule] = {
    **{f"conv{axes}d": _convolution("Conv") for axes in (1, 2, 3)},
    **{f"conv{axes}d_transpose": _convolution("ConvTranspose") for axes in (1, 2, 3)},
    "depthwise_conv2d": _convolution("Conv", is_depthwise=True),
}
