"""Activations that have parameters."""

from __future__ import annotations

from fluidcore import core
from fluidcore.initializer import Constant
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.param_attr import ParamAttrLike
from fluidcore.program import Variable


@atomic
def prelu(
    x: Variable, mode: str = "all", param_attr: ParamAttrLike = None, name: str | None = None
) -> Variable:
    """X where it is above 0, else alpha x; alpha is learned (He et al. 2015).

    Args:
        x: [batch, ...], floating; with mode "channel" [batch, channels, ...].
        mode: What has an alpha of its own: "all" for one of everything, "channel", or "element" of
            a row.
        param_attr: Of alpha, which starts with 0.25; [1], [channels] or the extents of a row.
        name: Name of the layer; None makes one up.

    Returns:
        Shape and dtype of x.
    """
    check_variable("prelu", "x", x)
    shapes = {"all": (1,), "channel": x.shape[1:2], "element": x.shape[1:]}
    if mode not in shapes:
        raise core.InvalidArgument(f"prelu: mode must be one of {', '.join(shapes)}, got {mode!r}")
    shape = shapes[mode]
    if not shape or min(shape) < 1:
        raise core.InvalidArgument(
            f'prelu: x must have known extents after the batch for mode "{mode}", '
            f"got {list(x.shape)}"
        )
    helper = LayerHelper("prelu", name)
    alpha = helper.weight(param_attr, shape, x.dtype, Constant(0.25))
    if mode == "all":
        return helper.append("prelu", {"X": x, "Alpha": alpha})
    above = helper.append("relu", {"X": x})
    below = helper.append("relu", {"X": helper.append("scale", {"X": x}, {"scale": -1.0})})
    leaked = helper.append("elementwise_mul", {"X": below, "Y": alpha}, {"axis": 1})
    return helper.append("elementwise_sub", {"X": above, "Y": leaked})
