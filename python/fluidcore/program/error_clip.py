"""Error clips: what clips the gradient of a variable during backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fluidcore.base.settings import Settings

if TYPE_CHECKING:
    from fluidcore.program.block import Block


class BaseErrorClipAttr(Settings):
    """Clips the gradient of a variable before the next gradient operator reads it.

    A class of one's own belongs to the Python object only: clones keep it, a saved program does
    not.
    """

    def append_clip_op(self, block: Block, grad_name: str) -> None:
        """Appends to `block` the operator that clips `grad_name` in place."""
        raise NotImplementedError


class ErrorClipByValue(BaseErrorClipAttr):
    """Clips every element of a variable's gradient to [min, max].

    The bounds are part of the program: they are printed and saved with it, and therefore do not
    change. A subclass is a class of one's own, and may set and change its bounds.

    Args:
        max: The largest value kept.
        min: The smallest value kept; None means -max.

    Attributes:
        max: The largest value kept.
        min: The smallest value kept.
    """

    max: float
    min: float

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max, self.min = checked_bounds("ErrorClipByValue", max, min)

    def __setattr__(self, name: str, value: Any) -> None:
        if type(self) is ErrorClipByValue and name in vars(self):
            raise AttributeError(
                f"ErrorClipByValue: {name} does not change, as the bounds are saved with the "
                "program; set the variable's error_clip to a new ErrorClipByValue"
            )
        super().__setattr__(name, value)

    def append_clip_op(self, block: Block, grad_name: str) -> None:
        """Appends `clip`, in place."""
        clip_op_desc = block.desc.append_op()
        clip_op_desc.set_type("clip")
        clip_op_desc.set_input("X", [grad_name])
        clip_op_desc.set_output("Out", [grad_name])
        clip_op_desc.set_attr("min", self.min)
        clip_op_desc.set_attr("max", self.max)


def checked_bounds(kind: str, high: float, low: float | None) -> tuple[float, float]:
    """The largest and the smallest value kept; ValueError if there is nothing between them."""
    high = float(high)
    low = -high if low is None else float(low)
    if not low <= high:
        raise ValueError(f"{kind}: min must be at most max, got min {low}, max {high}")
    return high, low
