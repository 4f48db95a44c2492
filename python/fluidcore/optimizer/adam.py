"""Adam and what was made of it."""

from __future__ import annotations

from typing import Any

from fluidcore.base.checks import check_name, check_not_negative, check_share
from fluidcore.optimizer.base import Optimizer
from fluidcore.program import Operator, Parameter, Variable
from fluidcore.regularizer import WeightDecayRegularizer

EPSILON_MODES = ("before", "after")


class AdamOptimizer(Optimizer):
    """Adaptive moments (Kingma and Ba 2015).

    The roots of the mean squares start too small, and are divided by sqrt(1 - beta2 ** step).
    Fluid adds epsilon before that, everybody else after it: an epsilon of Fluid counts
    1 / sqrt(1 - beta2 ** step) times as much, 32 times in the first step by default. Where
    gradients are not much larger than epsilon, the two train differently. Whoever brings a model
    from PyTorch, JAX or Keras writes epsilon_mode="after".

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        beta1: Decay of the mean of gradients.
        beta2: Decay of the mean of squared gradients.
        epsilon: Added to the denominator.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        epsilon_mode: "before": epsilon is added before the bias is corrected, as in Fluid;
            "after": after it.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "adam"
    _moment1_acc_str = "moment1"
    _moment2_acc_str = "moment2"

    def __init__(
        self,
        learning_rate: float | Variable = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        epsilon_mode: str = "before",
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(learning_rate, regularization, name, global_step)
        self.beta1 = check_share(f"{self.type}: beta1", beta1)
        self.beta2 = check_share(f"{self.type}: beta2", beta2)
        self.epsilon = check_not_negative(f"{self.type}: epsilon", epsilon)
        if check_name(f"{self.type}: epsilon_mode", epsilon_mode) not in EPSILON_MODES:
            raise ValueError(
                f"{self.type}: epsilon_mode must be 'before' or 'after', got '{epsilon_mode}'"
            )
        self.epsilon_mode = epsilon_mode

    def _powers(self, like: Variable) -> dict[str, tuple[Variable, float]]:
        """The powers beta ** step, and the betas."""
        return {
            "Beta1Pow": (self._shared_state("beta1_pow", like, self.beta1), self.beta1),
            "Beta2Pow": (self._shared_state("beta2_pow", like, self.beta2), self.beta2),
        }

    def _scalars(self, param: Parameter) -> dict[str, Variable]:
        powers = {slot: power for slot, (power, _) in self._powers(param).items()}
        return {"LearningRate": self._learning_rate(param), **powers}

    def _attrs(self) -> dict[str, Any]:
        return {
            "beta1": self.beta1,
            "beta2": self.beta2,
            "epsilon": self.epsilon,
            "epsilon_mode": self.epsilon_mode,
        }

    def _moments(self, param: Parameter) -> dict[str, Variable]:
        return {
            "Moment1": self._accumulator(self._moment1_acc_str, param),
            "Moment2": self._accumulator(self._moment2_acc_str, param),
        }

    def _append_update(self, param: Parameter, grad: Variable) -> Operator:
        state = self._moments(param)
        return self._append_rule(self.type, param, grad, state, self._attrs(), self._scalars(param))

    def _finish_update(self, pairs: list[tuple[Parameter, Variable]]) -> list[Operator]:
        powers: dict[str, tuple[Variable, float]] = {}
        for param, _ in pairs:
            for power, beta in self._powers(param).values():
                powers[power.name] = (power, beta)
        block = self._updates_block()
        return [
            block.append_op("scale", {"X": power}, {"Out": power}, {"scale": beta})
            for power, beta in powers.values()
        ]


class AdamWOptimizer(AdamOptimizer):
    """Adam with a decay of weights that takes no part in the moments (Loshchilov, Hutter 2019).

    Param -= learning_rate * weight_decay * param, then as Adam, epsilon after the correction of
    the bias.

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        beta1: Decay of the mean of gradients.
        beta2: Decay of the mean of squared gradients.
        epsilon: Added to the denominator.
        weight_decay: Of all parameters.
        regularization: Added to gradients, as Adam has it.
        name: Starts the names of the optimizer's variables.
        epsilon_mode: As Adam has it.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "adamw"

    def __init__(
        self,
        learning_rate: float | Variable = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        weight_decay: float = 0.01,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        epsilon_mode: str = "after",
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(
            learning_rate, beta1, beta2, epsilon, regularization, name, epsilon_mode, global_step
        )
        self.weight_decay = check_not_negative("adamw: weight_decay", weight_decay)

    def _attrs(self) -> dict[str, Any]:
        return {**super()._attrs(), "coeff": self.weight_decay}


class AdamaxOptimizer(AdamOptimizer):
    """Adam with the greatest gradient, which decays, in place of the root of the mean square.

    InfNorm = max(|grad|, beta2 * inf_norm + epsilon).

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        beta1: Decay of the mean of gradients.
        beta2: Decay of the greatest gradient.
        epsilon: Added to the greatest gradient.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "adamax"
    _moment_acc_str = "moment"
    _inf_norm_acc_str = "inf_norm"

    def __init__(
        self,
        learning_rate: float | Variable = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(
            learning_rate, beta1, beta2, epsilon, regularization, name, global_step=global_step
        )

    def _powers(self, like: Variable) -> dict[str, tuple[Variable, float]]:
        return {"Beta1Pow": (self._shared_state("beta1_pow", like, self.beta1), self.beta1)}

    def _attrs(self) -> dict[str, Any]:
        return {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon}

    def _moments(self, param: Parameter) -> dict[str, Variable]:
        return {
            "Moment": self._accumulator(self._moment_acc_str, param),
            "InfNorm": self._accumulator(self._inf_norm_acc_str, param),
        }
