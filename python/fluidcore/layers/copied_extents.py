"""Extents of 0 in `reshape`, which in Fluid stand for those of the input."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore.base.checks import check_extents
from fluidcore.layers.helper import LayerHelper
from fluidcore.program import Variable


def with_copies(
    helper: LayerHelper, x: Variable, shape: Sequence[int]
) -> tuple[list[int], Variable | None]:
    """The extents with those of x where they are 0, and a variable with those known to runs only.

    Where x is known to be empty a 0 is an extent.

    Args:
        helper: Of the layer.
        x: The input.
        shape: Extents; the 0 at position i stands for extent i of x.

    Returns:
        Extents with -1 where only a run knows them; None, or all extents as int64 [len(shape)] if
        more than one is unknown.
    """
    extents = check_extents("reshape: shape", shape)
    if 0 not in extents or 0 in x.shape:
        return extents, None
    copied = [i for i, extent in enumerate(extents) if extent == 0 and i < len(x.shape)]
    for i in copied:
        extents[i] = x.shape[i]
    if extents.count(-1) < 2:
        return extents, None
    of_x = helper.append("shape", {"X": x})
    parts = []
    for i, extent in enumerate(extents):
        if i in copied:
            slice_attrs = {"axes": [0], "starts": [i], "ends": [i + 1]}
            parts.append(helper.append("slice", {"X": of_x}, slice_attrs))
        else:
            fill = {"shape": [1], "value": float(extent), "dtype": "int64"}
            parts.append(helper.append("fill_constant", {}, fill))
    return extents, helper.append("concat", {"X": parts}, {"axis": 0})
