"""Optimizers that divide by the root of accumulated squares of gradients."""

from __future__ import annotations

from fluidcore.base.checks import check_not_negative, check_number, check_share
from fluidcore.optimizer.base import Optimizer
from fluidcore.program import Operator, Parameter, Variable
from fluidcore.regularizer import WeightDecayRegularizer


class AdagradOptimizer(Optimizer):
    """Divides by the root of the sum of all squared gradients (Duchi, Hazan, Singer 2011).

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        epsilon: Added to the denominator.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "adagrad"
    _moment_acc_str = "moment"

    def __init__(
        self,
        learning_rate: float | Variable,
        epsilon: float = 1.0e-6,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.epsilon = check_not_negative("adagrad: epsilon", epsilon)

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        state = {"Moment": self._accumulator(self._moment_acc_str, param)}
        return self._append_rule("adagrad", param, grad, state, {"epsilon": self.epsilon})


class DecayedAdagradOptimizer(Optimizer):
    """Adagrad with a decaying mean of the squares in place of their sum.

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        decay: Share of the mean that is kept.
        epsilon: Added to the denominator.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "decayed_adagrad"
    _moment_acc_str = "moment"

    def __init__(
        self,
        learning_rate: float | Variable,
        decay: float = 0.95,
        epsilon: float = 1.0e-6,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.decay = check_share("decayed_adagrad: decay", decay)
        self.epsilon = check_not_negative("decayed_adagrad: epsilon", epsilon)

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        state = {"Moment": self._accumulator(self._moment_acc_str, param)}
        attrs = {"decay": self.decay, "epsilon": self.epsilon}
        return self._append_rule("decayed_adagrad", param, grad, state, attrs)


class AdadeltaOptimizer(Optimizer):
    """Updates of the size of earlier updates (Zeiler 2012).

    Update = -grad sqrt((mean squared update + epsilon) / (mean squared gradient + epsilon)).
    There is no learning rate in this: learning_rate is accepted, as in Fluid, and changes nothing.

    Args:
        learning_rate: Without effect.
        epsilon: Added to both means.
        rho: Share of the means that is kept.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "adadelta"
    _reads_rate = False

    def __init__(
        self,
        learning_rate: float | Variable,
        epsilon: float = 1.0e-6,
        rho: float = 0.95,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.epsilon = check_not_negative("adadelta: epsilon", epsilon)
        self.rho = check_share("adadelta: rho", rho)

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        state = {
            "AvgSquaredGrad": self._accumulator("avg_squared_grad", param),
            "AvgSquaredUpdate": self._accumulator("avg_squared_update", param),
        }
        attrs = {"epsilon": self.epsilon, "rho": self.rho}
        return self._append_rule("adadelta", param, grad, state, attrs, scalars={})


class RMSPropOptimizer(Optimizer):
    """Divides by the root of a decaying mean of squared gradients (Hinton).

    Moment = momentum * moment + learning_rate * grad / sqrt(mean square + epsilon);
    param -= moment.

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        rho: Share of the mean that is kept.
        epsilon: Added to the mean.
        momentum: Share of the last update that is added.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "rmsprop"

    def __init__(
        self,
        learning_rate: float | Variable,
        rho: float = 0.95,
        epsilon: float = 1.0e-6,
        momentum: float = 0.0,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.rho = check_share("rmsprop: rho", rho)
        self.epsilon = check_not_negative("rmsprop: epsilon", epsilon)
        self.momentum = check_number("rmsprop: momentum", momentum)

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        state = {
            "MeanSquare": self._accumulator("mean_square", param),
            "Moment": self._accumulator("momentum", param),
        }
        attrs = {"decay": self.rho, "epsilon": self.epsilon, "momentum": self.momentum}
        return self._append_rule("rmsprop", param, grad, state, attrs)
