"""The lengths of a weight, which WeightNormParamAttr learns apart from its directions."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.initializer import Initializer
from fluidcore.program import Block, Operator, Variable


def extents_of_lengths(layer: str, shape: Sequence[int], dim: int | None) -> list[int]:
    """The extents of the lengths: those of the weight along `dim`, else 1; [1] for None.

    Raises:
        core.InvalidArgument: The weight has no such dimension.
    """
    if dim is None:
        return [1]
    if not -len(shape) <= dim < len(shape):
        raise core.InvalidArgument(
            f"{layer}: dim of WeightNormParamAttr must be a dimension of the weight "
            f"{list(shape)}, got {dim}"
        )
    kept = dim % len(shape)
    return [extent if i == kept else 1 for i, extent in enumerate(shape)]


def append_lengths(block: Block, v: Variable, extents: Sequence[int], out: str) -> Operator:
    """Appends the operators of the Euclidean norms of v, of these extents, to a variable."""
    key = f"{v.name}.length"
    squares = block.append_single("square", {"X": v}, key=key)
    summed = [i for i in range(len(v.shape)) if len(extents) == 1 or extents[i] == 1]
    attrs = {"dim": summed, "keep_dim": True}
    total = block.append_single("reduce_sum", {"X": squares}, attrs, key=key)
    lengths = block.append_single("sqrt", {"X": total}, key=key)
    attrs = {"shape": list(extents)}
    return block.append_op("reshape", {"X": lengths}, {"Out": out}, attrs)


class LengthsOf(Initializer):
    """Fills a parameter with the lengths of another one, which the same program fills before.

    Args:
        name: Of the other parameter.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, var: Variable, block: Block) -> Operator:
        """Appends the operators to a block."""
        return append_lengths(block, block.var(self.name), var.shape, var.name)
