"""Optimizers that make parameters 0 where these are not worth their penalty."""

from __future__ import annotations

from fluidcore.base.checks import check_not_negative, check_number
from fluidcore.optimizer.base import Optimizer
from fluidcore.program import Operator, Parameter, Variable
from fluidcore.regularizer import WeightDecayRegularizer


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader (McMahan et al. 2013).

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        l1: Weight of the sum of |param|.
        l2: Weight of the sum of param squared.
        lr_power: Power of the sum of squared gradients by which the rate falls.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "ftrl"

    def __init__(
        self,
        learning_rate: float | Variable,
        l1: float = 0.0,
        l2: float = 0.0,
        lr_power: float = -0.5,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.l1 = check_not_negative("ftrl: l1", l1)
        self.l2 = check_not_negative("ftrl: l2", l2)
        self.lr_power = check_number("ftrl: lr_power", lr_power)

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        state = {
            "SquaredAccumulator": self._accumulator("squared", param),
            "LinearAccumulator": self._accumulator("linear", param),
        }
        attrs = {"l1": self.l1, "l2": self.l2, "lr_power": self.lr_power}
        return self._append_rule("ftrl", param, grad, state, attrs)


class ProximalGDOptimizer(Optimizer):
    """Gradient descent, and then the penalty at its minimum (Parikh, Boyd 2014).

    Prox = param - learning_rate * grad; param = sign(prox) max(|prox| - learning_rate * l1, 0) /
    (1 + learning_rate * l2).

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        l1: Weight of the sum of |param|.
        l2: Weight of half of the sum of param squared.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "proximal_gd"

    def __init__(
        self,
        learning_rate: float | Variable,
        l1: float = 0.0,
        l2: float = 0.0,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.l1 = check_not_negative("proximal_gd: l1", l1)
        self.l2 = check_not_negative("proximal_gd: l2", l2)

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        attrs = {"l1": self.l1, "l2": self.l2}
        return self._append_rule("proximal_gd", param, grad, None, attrs)


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad, and then the penalty at its minimum.

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        l1: Weight of the sum of |param|.
        l2: Weight of half of the sum of param squared.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "proximal_adagrad"

    def __init__(
        self,
        learning_rate: float | Variable,
        l1: float = 0.0,
        l2: float = 0.0,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.l1 = check_not_negative("proximal_adagrad: l1", l1)
        self.l2 = check_not_negative("proximal_adagrad: l2", l2)

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        state = {"Moment": self._accumulator("moment", param)}
        attrs = {"l1": self.l1, "l2": self.l2}
        return self._append_rule("proximal_adagrad", param, grad, state, attrs)
