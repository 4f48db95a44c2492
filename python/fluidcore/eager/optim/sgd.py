"""Gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fluidcore.eager.optim.base import Optimizer
from fluidcore.eager.tensor import Tensor


class SGD(Optimizer):
    """Param -= lr (grad + weight_decay param).

    Args:
        parameters: Leaves, as `module.parameters()` gives them.
        lr: The learning rate.
        weight_decay: Share of a parameter that is added to its gradient.
    """

    op_type = "sgd"

    def __init__(
        self, parameters: Iterable[Tensor], lr: float = 1e-3, weight_decay: float = 0.0
    ) -> None:
        super().__init__(parameters, lr, weight_decay)


class Momentum(Optimizer):
    """Velocity = momentum velocity + grad; param -= lr velocity: PyTorch's SGD with a momentum.

    Args:
        parameters: Leaves, as `module.parameters()` gives them.
        lr: The learning rate.
        momentum: Share of the velocity that is kept.
        weight_decay: Share of a parameter that is added to its gradient.
        nesterov: Whether param -= lr (grad + momentum velocity).
    """

    op_type = "momentum"
    _slots = ("Velocity",)

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        self.momentum = self._not_negative("momentum", momentum)
        self.nesterov = bool(nesterov)

    def _attrs(self) -> dict[str, Any]:
        return {"mu": self.momentum, "use_nesterov": self.nesterov}
