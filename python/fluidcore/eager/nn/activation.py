"""Activations as modules; each calculates element by element, and has the shape of x."""

from __future__ import annotations

from fluidcore import core
from fluidcore.eager.apply import apply_single
from fluidcore.eager.nn.checks import check_tensor
from fluidcore.eager.nn.module import Module
from fluidcore.eager.tensor import Tensor


class _Activation(Module):
    """An operator of one input."""

    _op_type: str

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of x."""
        return apply_single(self._op_type, {"X": check_tensor(type(self).__name__, x)}, {})


class ReLU(_Activation):
    """The greater of x and 0."""

    _op_type = "relu"


class Tanh(_Activation):
    """The hyperbolic tangent."""

    _op_type = "tanh"


class Sigmoid(_Activation):
    """1 / (1 + exp(-x))."""

    _op_type = "sigmoid"


class GELU(Module):
    """x times the probability that a normal number is at most x.

    Args:
        approximate: "none", or "tanh": (1 + tanh(sqrt(2 / π) (x + 0.044715 x³))) / 2 as the
            probability.
    """

    def __init__(self, approximate: str = "none") -> None:
        if approximate not in ("none", "tanh"):
            raise core.InvalidArgument(
                f"GELU: approximate must be 'none' or 'tanh', got {approximate!r}"
            )
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of x."""
        attrs = {"approximate": self.approximate == "tanh"}
        return apply_single("gelu", {"X": check_tensor("GELU", x)}, attrs)

    def extra_repr(self) -> str:
        """The argument."""
        return f"approximate={self.approximate!r}"
