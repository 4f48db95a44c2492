"""What a measurement leaves out, and how often: printed beside its table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

LARGEST = 200  # elements of an input; other checkers take too long for more
EQUIVALENT = 2e-5  # a smaller change, relative to the gradient's largest element, is no bug


class LeftOut(Enum):
    """Why an example is not drawn, or a bug that was drawn is not planted."""

    FLAT = "flat examples of gradient operators: they lose all digits there, right or wrong"
    EMPTY = "examples without elements"
    LARGE = f"examples of more than {LARGEST} elements"
    OTHER_DTYPE = "examples that calculate in another dtype"
    KINK = "right gradients at a kink or a tie get no bug: it may be a right subgradient"
    SMALL = f"bugs that change the gradient by {EQUIVALENT:g} of its largest element or less"
    UNFIT = "bugs that the example has no place for, or that cannot be run"


def left_out_text(counts: Mapping[LeftOut, int]) -> str:
    """A line for each reason that there was, below a title; empty if there was none."""
    lines = [f"  {counts[why]:,} {why.value}" for why in LeftOut if counts.get(why)]
    return "\n".join(["left out (of a bug, another is drawn in its place):", *lines] * bool(lines))
