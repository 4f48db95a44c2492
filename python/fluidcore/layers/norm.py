"""Layers that normalize each example by itself."""

from __future__ import annotations

import math

from fluidcore import core
from fluidcore.base.checks import is_whole
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
    check_variable("layer_norm", "input", input)
    rank = len(input.shape)
    if not is_whole(begin_norm_axis) or not 0 <= begin_norm_axis < rank:
        raise core.InvalidArgument(
            f"layer_norm: begin_norm_axis must be in [0, {rank}) for input {list(input.shape)}, "
            f"got {begin_norm_axis}"
        )
    features = input.shape[begin_norm_axis:]
    helper = LayerHelper("layer_norm", name)
    inputs = {"X": input}
    for wanted, slot, attr, suffix, start in (
        (scale, "Scale", param_attr, "w", 1.0),
        (shift, "Bias", bias_attr, "b", 0.0),
    ):
        if not wanted or attr is False:
            continue
        if -1 in features:
            raise core.InvalidArgument(
                f"layer_norm: the extents from {begin_norm_axis} on must be known, "
                f"got '{input.name}' of shape {list(input.shape)}"
            )
        size = [math.prod(features)]
        made = helper.create_parameter(attr, size, input.dtype, suffix, Constant(start))
        assert made is not None
        inputs[slot] = made
    attrs = {"epsilon": epsilon, "begin_norm_axis": begin_norm_axis}
    return helper.activation(helper.append("layer_norm", inputs, attrs, "Y"), act)


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
