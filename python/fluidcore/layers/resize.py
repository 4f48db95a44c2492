"""Images of another size, as Fluid called it."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.layers.helper import LayerHelper, check_variable
from fluidcore.program import Variable


def image_resize(
    input: Variable,
    out_shape: Sequence[int] | None = None,
    scale: float | None = None,
    name: str | None = None,
    resample: str = "BILINEAR",
) -> Variable:
    """Images of another size, the corners of which are those of the input; see `interpolate`.

    Args:
        input: [N, C, H, W], floating.
        out_shape: Height and width of the result.
        scale: Or the factor of both, rounded down.
        name: Name of the layer; None makes one up.
        resample: "BILINEAR".

    Returns:
        [N, C, height, width].

    Raises:
        core.InvalidArgument: Neither or both of out_shape and scale are given, or another way.
    """
    check_variable("image_resize", "input", input)
    if resample != "BILINEAR":
        raise core.InvalidArgument(
            f"image_resize: resample must be 'BILINEAR', got {resample!r}; "
            "interpolate has other modes"
        )
    if (out_shape is None) == (scale is None):
        raise core.InvalidArgument(
            f"image_resize: one of out_shape and scale must be given, got {out_shape} and {scale}"
        )
    of_size = {"scale": [scale] * 2} if out_shape is None else {"size": list(out_shape)}
    attrs = {**of_size, "mode": "bilinear", "align_corners": True}
    return LayerHelper("image_resize", name).append("interpolate", {"X": input}, attrs)


def resize_bilinear(
    input: Variable,
    out_shape: Sequence[int] | None = None,
    scale: float | None = None,
    name: str | None = None,
) -> Variable:
    """`image_resize` with the default resample."""
    return image_resize(input, out_shape, scale, name)
