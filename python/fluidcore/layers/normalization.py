"""Layers that normalize each example by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fluidcore import core
from fluidcore.base.checks import check_number, is_whole
from fluidcore.initializer import Constant
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.param_attr import ParamAttrLike
from fluidcore.program import Variable


@atomic
def layer_norm(
    input: Variable,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-5,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Normalizes each example over its features, then scales and shifts these.

    Args:
        input: [batch..., features...], floating.
        scale: Whether to multiply with a parameter [features], 1 at first.
        shift: Whether to add a parameter [features], 0 at first.
        begin_norm_axis: How many leading dimensions are batch.
        epsilon: Added to the variance.
        param_attr: Of the scale; False for none.
        bias_attr: Of the shift; False for none.
        act: Type of an activation operator, for example "relu".
        name: Name of the layer; None makes one up.

    Returns:
        Shape and dtype of the input.
    """
    return _norm_of_rows(
        "layer_norm",
        input,
        scale,
        shift,
        begin_norm_axis,
        epsilon,
        param_attr,
        bias_attr,
        act,
        name,
    )


@atomic
def rms_norm(
    input: Variable,
    scale: bool = True,
    shift: bool = False,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-5,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Divides each example by the root of the mean of its squares, then scales its features.

    Args:
        input: [batch..., features...], floating.
        scale: Whether to multiply with a parameter [features], 1 at first.
        shift: Whether to add a parameter [features], 0 at first.
        begin_norm_axis: How many leading dimensions are batch.
        epsilon: Added to the mean of the squares.
        param_attr: Of the scale; False for none.
        bias_attr: Of the shift; False for none.
        act: Type of an activation operator, for example "relu".
        name: Name of the layer; None makes one up.

    Returns:
        Shape and dtype of the input.
    """
    return _norm_of_rows(
        "rms_norm", input, scale, shift, begin_norm_axis, epsilon, param_attr, bias_attr, act, name
    )


@atomic
def group_norm(
    input: Variable,
    groups: int,
    epsilon: float = 1e-5,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    act: str | None = None,
    data_layout: str = "NCHW",
    name: str | None = None,
) -> Variable:
    """Normalizes groups of channels of each example, then scales and shifts each channel.

    Args:
        input: [batch, channels, ...], or [batch, ..., channels] with data_layout "NHWC"; floating.
        groups: How many groups of neighbouring channels.
        epsilon: Added to the variance.
        param_attr: Of the scale [channels], 1 at first; False for none.
        bias_attr: Of the shift [channels], 0 at first; False for none.
        act: Type of an activation operator, for example "relu".
        data_layout: "NCHW" or "NHWC".
        name: Name of the layer; None makes one up.

    Returns:
        Shape and dtype of the input.
    """
    attrs: dict[str, Any] = {"groups": groups, "epsilon": epsilon}
    if data_layout != "NHWC":
        attrs["data_layout"] = data_layout
        return _norm_of_channels("group_norm", input, attrs, param_attr, bias_attr, act, name)
    check_variable("group_norm", "input", input)
    first, *between, last = range(max(len(input.shape), 2))
    x = input.transpose(first, last, *between)
    out = _norm_of_channels("group_norm", x, attrs, param_attr, bias_attr, act, name)
    return out.transpose(first, *(axis + 1 for axis in between), 1)


@atomic
def instance_norm(
    input: Variable,
    epsilon: float = 1e-5,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    name: str | None = None,
) -> Variable:
    """Normalizes each channel of each example, then scales and shifts it.

    Args:
        input: [batch, channels, ...], floating.
        epsilon: Added to the variance.
        param_attr: Of the scale [channels], 1 at first; False for none.
        bias_attr: Of the shift [channels], 0 at first; False for none.
        name: Name of the layer; None makes one up.

    Returns:
        Shape and dtype of the input.
    """
    attrs = {"epsilon": epsilon}
    return _norm_of_channels("instance_norm", input, attrs, param_attr, bias_attr, None, name)


def _norm_of_rows(
    layer: str,
    input: Variable,
    scale: bool,
    shift: bool,
    begin_norm_axis: int,
    epsilon: float,
    param_attr: ParamAttrLike,
    bias_attr: ParamAttrLike,
    act: str | None,
    name: str | None,
) -> Variable:
    check_variable(layer, "input", input)
    rank = len(input.shape)
    if not is_whole(begin_norm_axis) or not 0 <= begin_norm_axis < rank:
        raise core.InvalidArgument(
            f"{layer}: begin_norm_axis must be in [0, {rank}) for input {list(input.shape)}, "
            f"got {begin_norm_axis}"
        )
    features = input.shape[begin_norm_axis:]
    wanted = {"Scale": param_attr if scale else False, "Bias": bias_attr if shift else False}
    if -1 in features and any(attr is not False for attr in wanted.values()):
        raise core.InvalidArgument(
            f"{layer}: the extents from {begin_norm_axis} on must be known, "
            f"got '{input.name}' of shape {list(input.shape)}"
        )
    attrs = {"epsilon": epsilon, "begin_norm_axis": begin_norm_axis}
    return _normalized(LayerHelper(layer, name), input, math.prod(features), wanted, attrs, act)


def _norm_of_channels(
    layer: str,
    input: Variable,
    attrs: dict[str, Any],
    param_attr: ParamAttrLike,
    bias_attr: ParamAttrLike,
    act: str | None,
    name: str | None,
) -> Variable:
    check_variable(layer, "input", input)
    if len(input.shape) < 2 or input.shape[1] < 1:
        raise core.InvalidArgument(
            f"{layer}: input must have at least two dimensions and known channels, "
            f"got {list(input.shape)}"
        )
    wanted = {"Scale": param_attr, "Bias": bias_attr}
    return _normalized(LayerHelper(layer, name), input, input.shape[1], wanted, attrs, act)


def _normalized(
    helper: LayerHelper,
    input: Variable,
    size: int,
    wanted: dict[str, ParamAttrLike],
    attrs: dict[str, Any],
    act: str | None,
) -> Variable:
    """Appends the operator, with a parameter [size] for each slot that is not False."""
    inputs = {"X": input}
    for (slot, attr), suffix, start in zip(wanted.items(), "wb", (1.0, 0.0), strict=True):
        made = helper.create_parameter(attr, [size], input.dtype, suffix, Constant(start))
        if made is not None:
            inputs[slot] = made
    return helper.activation(helper.append(helper.layer_type, inputs, attrs, "Y"), act)


def lrn(
    input: Variable,
    n: int = 5,
    k: float = 1.0,
    alpha: float = 1e-4,
    beta: float = 0.75,
    name: str | None = None,
) -> Variable:
    """Local response normalization: x / (k + alpha sum of x^2 over near channels)^beta.

    Args:
        input: [batch, channels, height, width], floating.
        n: Channels that the sum is over.
        k: Added to the sum.
        alpha: Factor of the sum.
        beta: Power of the divisor.
        name: Name of the layer; None makes one up.

    Returns:
        Shape and dtype of the input.
    """
    check_variable("lrn", "input", input)
    attrs = {"n": n, "k": k, "alpha": alpha, "beta": beta}
    return LayerHelper("lrn", name).append("lrn", {"X": input}, attrs)


@atomic
def l2_normalize(
    x: Variable, axis: int | Sequence[int], epsilon: float = 1e-12, name: str | None = None
) -> Variable:
    """Divides by the root of the sum of squares along one dimension or several.

    Args:
        x: Any shape, floating.
        axis: The dimensions; negative counts from the end.
        epsilon: The sum of squares counts as this where it is less.
        name: Name of the layer; None makes one up.

    Returns:
        Shape and dtype of x.
    """
    check_variable("l2_normalize", "x", x)
    least = check_number("l2_normalize: epsilon", epsilon)
    squares = LayerHelper("l2_normalize", name).append("square", {"X": x})
    return x / squares.sum(axis, keepdims=True).clip(min=least) ** 0.5
