"""Gradient descent, with and without momentum."""

from __future__ import annotations

from fluidcore.base.checks import check_number
from fluidcore.optimizer.base import Optimizer
from fluidcore.program import Operator, Parameter, Variable
from fluidcore.regularizer import WeightDecayRegularizer


class SGDOptimizer(Optimizer):
    """Param -= learning_rate * grad."""

    type = "sgd"

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        return self._append_rule("sgd", param, grad)


class MomentumOptimizer(Optimizer):
    """Velocity = momentum * velocity + grad; param -= learning_rate * velocity.

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        momentum: Share of the velocity that is kept.
        use_nesterov: Whether param -= learning_rate * (grad + momentum * velocity).
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "momentum"
    _velocity_acc_str = "velocity"

    def __init__(
        self,
        learning_rate: float | Variable,
        momentum: float,
        use_nesterov: bool = False,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.momentum = check_number("momentum: momentum", momentum)
        self.use_nesterov = bool(use_nesterov)

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        state = {"Velocity": self._accumulator(self._velocity_acc_str, param)}
        attrs = {"mu": self.momentum, "use_nesterov": self.use_nesterov}
        return self._append_rule("momentum", param, grad, state, attrs)
