"""Transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.layers.helper import LayerHelper, atomic, check_size, check_variable
from fluidcore.layers.windows import checked_channels, numbers
from fluidcore.param_attr import ParamAttrLike
from fluidcore.program import Variable


@atomic
def conv2d_transpose(
    input: Variable,
    num_filters: int,
    output_size: int | Sequence[int] | None = None,
    filter_size: int | Sequence[int] | None = None,
    padding: int | Sequence[int] | None = 0,
    stride: int | Sequence[int] | None = 1,
    dilation: int | Sequence[int] | None = 1,
    groups: int | None = None,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    use_mkldnn: bool = False,
) -> Variable:
    """Transposed convolution: act(what takes a convolution's gradient to its input + b).

    Args:
        input: [batch, channels, height, width], floating.
        num_filters: Channels of the result.
        output_size: Height and width of the result, or one number for both; None for what
            filter_size gives.
        filter_size: Height and width of the window, or one number for both; None for what
            output_size needs, with the height and width of the input known.
        padding: Elements cut off each side of the result; None is 0.
        stride: Steps of the window in the result; None is 1.
        dilation: Distance between the elements of the window; None is 1.
        groups: Channels are divided into this many groups that do not see each other.
        param_attr: Of the filter [channels, num_filters / groups, height, width].
        bias_attr: Of the bias [num_filters]; False for none.
        use_cudnn: Accepted; it changes nothing.
        act: Type of an activation operator, for example "relu".
        name: Name of the layer; None makes one up.
        use_mkldnn: Accepted; it changes nothing.

    Returns:
        [batch, num_filters, height', width'] with
        height' = (height - 1) stride - 2 padding + dilation (filter - 1) + 1.
    """
    layer = "conv2d_transpose"
    check_variable(layer, "input", input)
    check_size(layer, "num_filters", num_filters)
    groups = 1 if groups is None else groups
    channels = checked_channels(layer, input, groups, 2)
    if num_filters % groups != 0:
        raise core.InvalidArgument(
            f"{layer}: num_filters must be a multiple of groups, got {num_filters} with groups "
            f"{groups}"
        )
    steps = numbers(layer, "stride", stride, 2, default=1)
    pads = numbers(layer, "padding", padding, 2)
    apart = numbers(layer, "dilation", dilation, 2, default=1)
    wanted = None if output_size is None else numbers(layer, "output_size", output_size, 2)
    if filter_size is not None:
        window = numbers(layer, "filter_size", filter_size, 2)
    elif wanted is None or -1 in input.shape[2:] or min(apart) < 1:
        raise core.InvalidArgument(
            f"{layer}: filter_size must be given, or output_size for an input of known height and "
            f"width, got output_size {output_size} and input {list(input.shape)}"
        )
    else:
        axes = zip(wanted, input.shape[2:], steps, pads, apart, strict=True)
        window = [(out - (e - 1) * s + 2 * p - 1) // d + 1 for out, e, s, p, d in axes]
        if min(window) < 1:
            raise core.InvalidArgument(
                f"{layer}: output_size must be what a filter can give, got {wanted} for input "
                f"{list(input.shape)}"
            )
    helper = LayerHelper(layer, name)
    weight = helper.weight(param_attr, [channels, num_filters // groups, *window], input.dtype)
    attrs = {"strides": steps, "paddings": pads, "dilations": apart, "groups": groups}
    out = helper.append(layer, {"Input": input, "Filter": weight}, attrs, "Output")
    extents = list(out.shape[2:])
    if wanted is not None and any(e not in (w, -1) for e, w in zip(extents, wanted, strict=True)):
        raise core.InvalidArgument(
            f"{layer}: output_size must be what filter_size gives, {extents}, got {wanted}"
        )
    return helper.activation(helper.bias(out, bias_attr, num_filters, 1), act)
