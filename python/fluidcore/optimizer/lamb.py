"""Adam with steps as long as the parameters are."""

from __future__ import annotations

from typing import Any

from fluidcore.base.checks import check_not_negative
from fluidcore.optimizer.adam import AdamOptimizer
from fluidcore.program import Variable
from fluidcore.regularizer import WeightDecayRegularizer


class LambOptimizer(AdamOptimizer):
    """Adam whose step of each parameter is as long as the parameter (You et al. 2020).

    Direction = the step of Adam, epsilon after the correction of the bias, plus weight_decay *
    param; param -= learning_rate * norm(param) / norm(direction) * direction, or learning_rate *
    direction where either norm is 0. The norms are those of the whole parameter, which keeps large
    batches with large learning rates stable.

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        beta1: Decay of the mean of gradients.
        beta2: Decay of the mean of squared gradients.
        epsilon: Added to the denominator.
        weight_decay: Of all parameters.
        regularization: Added to gradients, as Adam has it.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "lamb"
    is_elementwise = False

    def __init__(
        self,
        learning_rate: float | Variable = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        weight_decay: float = 0.01,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(
            learning_rate, beta1, beta2, epsilon, regularization, name, global_step=global_step
        )
        self.weight_decay = check_not_negative("lamb: weight_decay", weight_decay)

    def _attrs(self) -> dict[str, Any]:
        return {
            "beta1": self.beta1,
            "beta2": self.beta2,
            "epsilon": self.epsilon,
            "coeff": self.weight_decay,
        }
