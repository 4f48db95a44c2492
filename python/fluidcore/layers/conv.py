"""Layers of convolutional networks; images are [batch, channels, height, width]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.initializer import Constant, Normal
from fluidcore.layers.helper import LayerHelper, atomic, check_size, check_variable
from fluidcore.param_attr import ParamAttr, ParamAttrLike
from fluidcore.program import Parameter, Variable


def _pair(layer: str, argument: str, value: int | Sequence[int]) -> list[int]:
    pair: list[Any] = (
        list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value, value]
    )
    if len(pair) != 2 or not all(is_whole(item) for item in pair):
        raise core.InvalidArgument(
            f"{layer}: {argument} must be one or two whole numbers, got {value!r}"
        )
    return [int(item) for item in pair]


@atomic
def conv2d(
    input: Variable,
    num_filters: int,
    filter_size: int | Sequence[int],
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int | None = 1,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Convolution: act(filter * x + b).

    Args:
        input: [batch, channels, height, width], floating.
        num_filters: Channels of the result.
        filter_size: Height and width of the window, or one number for both.
        stride: Steps of the window.
        padding: Zeros on each side.
        dilation: Distance between the elements of the window.
        groups: Channels are divided into this many groups that do not see each other.
        param_attr: Of the filter [num_filters, channels / groups, height, width].
        bias_attr: Of the bias [num_filters]; False for none.
        act: Type of an activation operator, for example "relu".
        name: Name of the layer; None makes one up.

    Returns:
        [batch, num_filters, height', width'] with
        height' = (height + 2 padding - (dilation (filter - 1) + 1)) / stride + 1.
    """
    check_variable("conv2d", "input", input)
    check_size("conv2d", "num_filters", num_filters)
    groups = 1 if groups is None else groups
    check_size("conv2d", "groups", groups)
    channels = input.shape[1] if len(input.shape) == 4 else -1
    if channels < 1 or channels % groups != 0:
        raise core.InvalidArgument(
            "conv2d: input must be [batch, channels, height, width] with known channels that are "
            f"a multiple of groups, got {list(input.shape)} with groups {groups}"
        )
    window = _pair("conv2d", "filter_size", filter_size)
    std = math.sqrt(2.0 / max(math.prod(window) * channels, 1))
    helper = LayerHelper("conv2d", name)
    shape = [num_filters, channels // groups, *window]
    weight = helper.weight(param_attr, shape, input.dtype, Normal(0.0, std))
    attrs = {
        "strides": _pair("conv2d", "stride", stride),
        "paddings": _pair("conv2d", "padding", padding),
        "dilations": _pair("conv2d", "dilation", dilation),
        "groups": groups,
    }
    out = helper.append("conv2d", {"Input": input, "Filter": weight}, attrs, "Output")
    return helper.activation(helper.bias(out, bias_attr, num_filters, 1), act)


def pool2d(
    input: Variable,
    pool_size: int | Sequence[int] = -1,
    pool_type: str = "max",
    pool_stride: int | Sequence[int] = 1,
    pool_padding: int | Sequence[int] = 0,
    global_pooling: bool = False,
    name: str | None = None,
) -> Variable:
    """Pooling: the largest element or the mean of each window.

    Args:
        input: [batch, channels, height, width], floating.
        pool_size: Height and width of the window, or one number for both.
        pool_type: "max" or "avg".
        pool_stride: Steps of the window.
        pool_padding: Elements added on each side; they take no part in a mean.
        global_pooling: Whether the window is the whole image.
        name: Name of the layer; None makes one up.

    Returns:
        [batch, channels, height', width'].
    """
    check_variable("pool2d", "input", input)
    window = _pair("pool2d", "pool_size", pool_size)
    if not global_pooling and min(window) < 1:
        raise core.InvalidArgument(
            f"pool2d: pool_size must be at least 1 without global_pooling, got {pool_size}"
        )
    attrs = {
        "pooling_type": pool_type,
        "ksize": [max(extent, 1) for extent in window],
        "strides": _pair("pool2d", "pool_stride", pool_stride),
        "paddings": _pair("pool2d", "pool_padding", pool_padding),
        "global_pooling": global_pooling,
    }
    return LayerHelper("pool2d", name).append("pool2d", {"X": input}, attrs)


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
        name: Name of the layer; None makes one up.
        moving_mean_name: Name of the running mean.
        moving_variance_name: Name of the running variance.

    Returns:
        Shape and dtype of the input.
    """
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
