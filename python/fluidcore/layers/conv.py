"""Layers of convolutional networks; images are [batch, channels, height, width]."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fluidcore import core
from fluidcore.initializer import Constant, Normal
from fluidcore.layers.helper import LayerHelper, atomic, check_size, check_variable
from fluidcore.layers.windows import checked_channels, has_channels_last, numbers
from fluidcore.param_attr import ParamAttr, ParamAttrLike
from fluidcore.program import Parameter, Variable


def _conv(
    layer: str,
    axes: int,
    input: Variable,
    num_filters: int,
    filter_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: int | Sequence[int] | None,
    dilation: int | Sequence[int] | None,
    groups: int | None,
    param_attr: ParamAttrLike,
    bias_attr: ParamAttrLike,
    act: str | None,
    name: str | None,
    data_format: str,
) -> Variable:
    check_variable(layer, "input", input)
    check_size(layer, "num_filters", num_filters)
    groups = 1 if groups is None else groups
    is_last = has_channels_last(layer, data_format, axes)
    channels = checked_channels(layer, input, groups, axes, is_last)
    window = numbers(layer, "filter_size", filter_size, axes)
    std = math.sqrt(2.0 / max(math.prod(window) * channels, 1))
    helper = LayerHelper(layer, name)
    shape = [num_filters, channels // groups, *window]
    weight = helper.weight(param_attr, shape, input.dtype, Normal(0.0, std))
    attrs = {
        "strides": numbers(layer, "stride", stride, axes, default=1),
        "paddings": numbers(layer, "padding", padding, axes),
        "dilations": numbers(layer, "dilation", dilation, axes, default=1),
        "groups": groups,
        **({"data_format": data_format} if is_last else {}),
    }
    out = helper.append(layer, {"Input": input, "Filter": weight}, attrs, "Output")
    axis = axes + 1 if is_last else 1
    return helper.activation(helper.bias(out, bias_attr, num_filters, axis), act)


@atomic
def conv2d(
    input: Variable,
    num_filters: int,
    filter_size: int | Sequence[int],
    stride: int | Sequence[int] | None = 1,
    padding: int | Sequence[int] | None = 0,
    dilation: int | Sequence[int] | None = 1,
    groups: int | None = None,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
    use_mkldnn: bool = False,
) -> Variable:
    """Convolution: act(filter * x + b).

    Args:
        input: [batch, channels, height, width], floating.
        num_filters: Channels of the result.
        filter_size: Height and width of the window, or one number for both.
        stride: Steps of the window; None is 1.
        padding: Zeros on each side; None is 0.
        dilation: Distance between the elements of the window; None is 1.
        groups: Channels are divided into this many groups that do not see each other.
        param_attr: Of the filter [num_filters, channels / groups, height, width].
        bias_attr: Of the bias [num_filters]; False for none.
        use_cudnn: Accepted; it changes nothing.
        act: Type of an activation operator, for example "relu".
        name: Name of the layer; None makes one up.
        data_format: "NCHW", or "NHWC": input and result have their channels last.
        use_mkldnn: Accepted; it changes nothing.

    Returns:
        [batch, num_filters, height', width'] with
        height' = (height + 2 padding - (dilation (filter - 1) + 1)) / stride + 1.
    """
    return _conv(
        "conv2d",
        2,
        input,
        num_filters,
        filter_size,
        stride,
        padding,
        dilation,
        groups,
        param_attr,
        bias_attr,
        act,
        name,
        data_format,
    )


@atomic
def conv3d(
    input: Variable,
    num_filters: int,
    filter_size: int | Sequence[int],
    stride: int | Sequence[int] | None = 1,
    padding: int | Sequence[int] | None = 0,
    dilation: int | Sequence[int] | None = 1,
    groups: int | None = None,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
    use_mkldnn: bool = False,
) -> Variable:
    """Convolution over three axes: act(filter * x + b).

    Args:
        input: [batch, channels, depth, height, width], floating.
        num_filters: Channels of the result.
        filter_size: Depth, height and width of the window, or one number for all.
        stride: Steps of the window; None is 1.
        padding: Zeros on each side; None is 0.
        dilation: Distance between the elements of the window; None is 1.
        groups: Channels are divided into this many groups that do not see each other.
        param_attr: Of the filter [num_filters, channels / groups, depth, height, width].
        bias_attr: Of the bias [num_filters]; False for none.
        use_cudnn: Accepted; it changes nothing.
        act: Type of an activation operator, for example "relu".
        name: Name of the layer; None makes one up.
        data_format: "NCDHW", or "NDHWC": input and result have their channels last.
        use_mkldnn: Accepted; it changes nothing.

    Returns:
        [batch, num_filters, depth', height', width'] with
        height' = (height + 2 padding - (dilation (filter - 1) + 1)) / stride + 1.
    """
    return _conv(
        "conv3d",
        3,
        input,
        num_filters,
        filter_size,
        stride,
        padding,
        dilation,
        groups,
        param_attr,
        bias_attr,
        act,
        name,
        data_format,
    )


@atomic
def batch_norm(
    input: Variable,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
) -> Variable:
    """Normalizes each channel over the batch, then scales and shifts it.

    Args:
        input: [batch, channels, ...], or [batch, ..., channels] with data_layout "NHWC".
        act: Type of an activation operator, for example "relu".
        is_test: Whether to use the running statistics; `Program.clone(for_test=True)` sets it.
        momentum: running = running * momentum + batch * (1 - momentum).
        epsilon: Added to the variance.
        param_attr: Of the scale [channels].
        bias_attr: Of the shift [channels].
        data_layout: "NCHW" or "NHWC".
        in_place: Accepted; memory is shared wherever that is right.
        name: Name of the layer; None makes one up.
        moving_mean_name: Name of the running mean.
        moving_variance_name: Name of the running variance.

    Returns:
        Shape and dtype of the input.
    """
    del in_place
    check_variable("batch_norm", "input", input)
    axis = 1 if data_layout == "NCHW" else -1
    if len(input.shape) < 2 or input.shape[axis] < 1:
        raise core.InvalidArgument(
            f"batch_norm: input must have at least two dimensions and known channels, "
            f"got {list(input.shape)}"
        )
    channels = input.shape[axis]
    helper = LayerHelper("batch_norm", name)

    def parameter(attr: ParamAttrLike, suffix: str, value: float, learnt: bool = True) -> Parameter:
        settings = {} if learnt else {"trainable": False, "stop_gradient": True}
        made = helper.create_parameter(
            attr, [channels], input.dtype, suffix, Constant(value), **settings
        )
        if made is None:
            raise core.InvalidArgument("batch_norm: param_attr and bias_attr must not be False")
        return made

    scale = parameter(param_attr, "w", 1.0)
    shift = parameter(bias_attr, "b", 0.0)
    mean = parameter(ParamAttr(moving_mean_name), "mean", 0.0, learnt=False)
    variance = parameter(ParamAttr(moving_variance_name), "variance", 1.0, learnt=False)
    out = helper.temporary()
    helper.block.append_op(
        "batch_norm",
        {"X": input, "Scale": scale, "Bias": shift, "Mean": mean, "Variance": variance},
        {"Y": out, "MeanOut": mean, "VarianceOut": variance},
        {"is_test": is_test, "momentum": momentum, "epsilon": epsilon, "data_layout": data_layout},
    )
    return helper.activation(helper.block.var(out), act)
