"""Linear algebra."""

from __future__ import annotations

from fluidcore.layers.helper import LayerHelper, check_variable
from fluidcore.program import Variable


def slogdet(x: Variable, name: str | None = None) -> tuple[Variable, Variable]:
    """The signs of determinants and the logarithms of their absolute values.

    Args:
        x: [..., n, n], floating, small matrices.
        name: Name of the layer; None makes one up.

    Returns:
        Signs [...], -1, 0 or 1, and logarithms [...], which pass gradients.
    """
    check_variable("slogdet", "x", x)
    helper = LayerHelper("slogdet", name)
    sign, out = helper.temporary(), helper.temporary()
    helper.block.append_op("slogdet", {"X": x}, {"Sign": sign, "Out": out})
    return helper.block.var(sign), helper.block.var(out)
