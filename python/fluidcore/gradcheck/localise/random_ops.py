"""Random operators of a loop, whose numbers are others in each step."""

from __future__ import annotations

from collections.abc import Mapping

from fluidcore import core
from fluidcore.gradcheck.localise.operator_run import as_double
from fluidcore.gradcheck.target.target import Array


def without_chance(
    op: core.OpDesc, written: Mapping[str, Array | None]
) -> tuple[core.OpDesc, dict[str, Array]] | None:
    """An operator that does what a random one did in one of its runs.

    Alone, a random operator draws the numbers of the outermost block, and so a derivative of it is
    that of another function. `dropout` is the one that has a gradient, and it has written down what
    it multiplied by.

    Args:
        op: The random operator.
        written: Variable -> what the operator wrote in this run, where that is known.

    Returns:
        The operator and the values that it reads beside those that `op` reads; None if unknown.
    """
    if op.type() != "dropout":
        return None
    (mask,) = op.output("Mask")
    drawn = written.get(mask)
    if drawn is None:
        return None
    inputs = {"X": op.input("X"), "Y": [mask]}
    product = core.OpDesc("elementwise_mul", inputs, {"Out": op.output("Out")})
    return product, {mask: as_double(drawn)}
