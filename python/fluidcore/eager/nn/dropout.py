"""Dropout."""

from __future__ import annotations

from fluidcore.eager.apply import apply_single
from fluidcore.eager.nn.checks import check_share, check_tensor
from fluidcore.eager.nn.module import Module
from fluidcore.eager.tensor import Tensor


class Dropout(Module):
    """Sets elements to zero at random when training, and multiplies the others by 1 / (1 - p).

    After `eval()` it gives x itself. That is PyTorch's meaning; `layers.dropout` leaves the others
    as they are, and multiplies by 1 - p when testing.

    Args:
        p: Probability of a zero.
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = check_share("Dropout: p", p)

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of x."""
        x = check_tensor("Dropout", x)
        return dropped(x, self.p) if self.training else x

    def extra_repr(self) -> str:
        """The argument."""
        return f"p={self.p}"


def dropped(x: Tensor, p: float) -> Tensor:
    """Zeros with probability p, and the other elements times 1 / (1 - p)."""
    if p == 0:
        return x
    kept = apply_single("dropout", {"X": x}, {"dropout_prob": p})
    return kept if p == 1 else kept * (1 / (1 - p))
