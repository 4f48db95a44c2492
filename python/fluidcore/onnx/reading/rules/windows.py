"""Windows of convolutions and pools: their strides, dilations and paddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import append
from fluidcore.program import Variable


class Windows(NamedTuple):
    """How windows move over the spatial axes.

    Attributes:
        kernel: Extents of a window.
        strides: Steps.
        dilations: Distances of its elements.
        begins: Elements added in front of each axis.
        ends: Elements added behind each axis.
    """

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    begins: list[int]
    ends: list[int]

    @classmethod
    def of(cls, node: Node, kernel: Sequence[int], extents: Sequence[int]) -> Windows:
        """The windows of a node.

        Args:
            node: The node.
            kernel: Extents of a window.
            extents: Of the spatial axes; -1 for open ones.
        """
        axes = len(extents)
        kernel = list(node.attr("kernel_shape", list(kernel)))
        strides = list(node.attr("strides", [1] * axes))
        dilations = list(node.attr("dilations", [1] * axes))
        pads = list(node.attr("pads", [0] * (2 * axes)))
        for name, numbers, least in (
            ("kernel_shape", kernel, 1),
            ("strides", strides, 1),
            ("dilations", dilations, 1),
            ("pads", pads, 0),
        ):
            count = 2 * axes if name == "pads" else axes
            if len(numbers) != count or min(numbers, default=least) < least:
                raise node.refuse(
                    f"attribute {name} must be {count} numbers of at least {least}", numbers
                )
        mode = node.attr("auto_pad", "NOTSET")
        begins, ends = pads[:axes], pads[axes:]
        if mode == "VALID":
            begins, ends = [0] * axes, [0] * axes
        elif mode in ("SAME_UPPER", "SAME_LOWER"):
            if -1 in extents:
                raise node.refuse(
                    f"the spatial extents must be known for auto_pad {mode}", list(extents)
                )
            begins, ends = [], []
            for n, k, s, d in zip(extents, kernel, strides, dilations, strict=True):
                total = (-(-n // s) - 1) * s + d * (k - 1) + 1 - n
                if total < 0 and node.op_type in ("AveragePool", "LpPool"):
                    raise node.refuse(f"windows must reach as far as the strides {strides}", kernel)
                total = max(total, 0)
                small, large = total // 2, total - total // 2
                begins.append(small if mode == "SAME_UPPER" else large)
                ends.append(large if mode == "SAME_UPPER" else small)
        elif mode != "NOTSET":
            raise node.refuse(
                "attribute auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode
            )
        return cls(kernel, strides, dilations, begins, ends)

    def padded(self, x: Variable) -> tuple[Variable, list[int]]:
        """X with the zeros that the operator cannot add itself, and the paddings that it can."""
        if self.begins == self.ends:
            return x, self.begins
        paddings = [0] * 4
        for begin, end in zip(self.begins, self.ends, strict=True):
            paddings += [begin, end]
        added = append("pad", {"X": x}, {"paddings": paddings})
        return added, [0] * len(self.begins)
