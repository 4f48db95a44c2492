"""Steps of one length, in the direction of a sign."""

from __future__ import annotations

from fluidcore.base.checks import check_not_negative, check_share
from fluidcore.optimizer.base import Optimizer
from fluidcore.program import Operator, Parameter, Variable
from fluidcore.regularizer import WeightDecayRegularizer


class LionOptimizer(Optimizer):
    """Evolved sign momentum (Chen et al. 2023): half of the memory of Adam.

    Param -= learning_rate * (sign(beta1 * moment + (1 - beta1) * grad) + weight_decay * param),
    then moment = beta2 * moment + (1 - beta2) * grad. Its learning rates are about a tenth of
    Adam's, its weight decays ten times as large.

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        beta1: How much of the mean is in the sign of the step.
        beta2: Decay of the mean of gradients.
        weight_decay: Of all parameters.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "lion"

    def __init__(
        self,
        learning_rate: float | Variable = 0.0001,
        beta1: float = 0.9,
        beta2: float = 0.99,
        weight_decay: float = 0.0,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.beta1 = check_share("lion: beta1", beta1)
        self.beta2 = check_share("lion: beta2", beta2)
        self.weight_decay = check_not_negative("lion: weight_decay", weight_decay)

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        state = {"Moment": self._accumulator("moment", param)}
        attrs = {"beta1": self.beta1, "beta2": self.beta2, "coeff": self.weight_decay}
        return self._append_rule("lion", param, grad, state, attrs)
