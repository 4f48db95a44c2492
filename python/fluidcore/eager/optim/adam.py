"""Adaptive moments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fluidcore.eager.optim.base import Optimizer
from fluidcore.eager.tensor import Tensor


class Adam(Optimizer):
    """Adaptive moments (Kingma and Ba 2015); eps is added after the bias is corrected.

    Args:
        parameters: Leaves, as `module.parameters()` gives them.
        lr: The learning rate.
        betas: Shares of the mean of gradients, and of that of their squares, that are kept.
        eps: Added to the denominator.
        weight_decay: Share of a parameter that is added to its gradient.
    """

    op_type = "adam"
    _slots = ("Moment1", "Moment2")

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr, weight_decay)
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise TypeError(f"{self._who}: betas must be two numbers, got {betas!r}")
        self.betas = (self._share("betas", betas[0]), self._share("betas", betas[1]))
        self.eps = self._not_negative("eps", eps)

    def _attrs(self) -> dict[str, Any]:
        beta1, beta2 = self.betas
        return {"beta1": beta1, "beta2": beta2, "epsilon": self.eps, "epsilon_mode": "after"}

    def _scalars(self, steps: int, dtype: str) -> dict[str, Tensor]:
        powers = [Tensor([beta**steps], dtype) for beta in self.betas]
        return {
            **super()._scalars(steps, dtype),
            "Beta1Pow": powers[0],
            "Beta2Pow": powers[1],
        }


class AdamW(Adam):
    """Adam with a decay of weights that takes no part in the moments (Loshchilov, Hutter 2019).

    Args:
        parameters: Leaves, as `module.parameters()` gives them.
        lr: The learning rate.
        betas: As of Adam.
        eps: As of Adam.
        weight_decay: Param -= lr weight_decay param, before the step of Adam.
    """

    op_type = "adamw"

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def _attrs(self) -> dict[str, Any]:
        return {**super()._attrs(), "coeff": self.weight_decay}

    def _decayed(self, parameter: Tensor, grad: Tensor) -> Tensor:
        del parameter
        return grad
