"""Rows divided by a mask, and put together again."""

from __future__ import annotations

from fluidcore import core
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.program import Variable


def _check_level(layer: str, level: int) -> None:
    if level != 0:
        raise core.InvalidArgument(
            f"{layer}: level must be 0, as there are no nested sequences, got {level!r}"
        )


@atomic
def split_lod_tensor(input: Variable, mask: Variable, level: int = 0) -> tuple[Variable, Variable]:
    """The rows where a mask is true, and those where it is false.

    Args:
        input: [N, ...].
        mask: [N, 1] or [N], bool.
        level: Must be 0: of nested sequences Fluid could divide the outer ones.

    Returns:
        [rows, ...] each, in the order of the input; either may be empty.

    Raises:
        core.InvalidArgument: An argument is not as above.
    """
    check_variable("split_lod_tensor", "input", input)
    check_variable("split_lod_tensor", "mask", mask)
    _check_level("split_lod_tensor", level)
    helper = LayerHelper("split_lod_tensor")
    names = [helper.temporary() for _ in range(2)]
    outputs = {"OutTrue": names[0], "OutFalse": names[1]}
    helper.block.append_op("split_lod_tensor", {"X": input, "Mask": mask}, outputs)
    return helper.block.var(names[0]), helper.block.var(names[1])


def merge_lod_tensor(
    in_true: Variable, in_false: Variable, x: Variable, mask: Variable, level: int = 0
) -> Variable:
    """What split_lod_tensor divided, or what was made of it, in the old order.

    Args:
        in_true: [rows, ...], the rows where the mask is true.
        in_false: [rows, ...], the others.
        x: [N, ...]; only the number of its rows matters.
        mask: [N, 1] or [N], bool.
        level: Must be 0.

    Returns:
        [N, ...].

    Raises:
        core.InvalidArgument: An argument is not as above.
    """
    inputs = {"X": x, "Mask": mask, "InTrue": in_true, "InFalse": in_false}
    for argument, value in zip(("x", "mask", "in_true", "in_false"), inputs.values(), strict=True):
        check_variable("merge_lod_tensor", argument, value)
    _check_level("merge_lod_tensor", level)
    return LayerHelper("merge_lod_tensor").append("merge_lod_tensor", inputs)
