"""Adam that looks ahead."""

from __future__ import annotations

from typing import Any

from fluidcore.base.checks import check_not_negative
from fluidcore.base.dtypes import dtype_number
from fluidcore.optimizer.adam import AdamOptimizer
from fluidcore.program import Operator, Parameter, Variable
from fluidcore.regularizer import WeightDecayRegularizer


class NAdamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat 2016).

    The momentum of step t is mu(t) = beta1 * (1 - 0.96 ** (t * momentum_decay) / 2).

    Args:
        learning_rate: A number, or a floating Variable [1] of the program.
        beta1: Decay of the mean of gradients, and the limit of the momentum.
        beta2: Decay of the mean of squared gradients.
        epsilon: Added to the denominator, after the correction of the bias.
        momentum_decay: How fast the momentum grows from beta1 / 2 to beta1.
        regularization: Weight decay of parameters without a regularizer of their own.
        name: Starts the names of the optimizer's variables.
        global_step: A persistable Variable [1]; each update adds 1 to it.
    """

    type = "nadam"

    def __init__(
        self,
        learning_rate: float | Variable = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        momentum_decay: float = 0.004,
        regularization: WeightDecayRegularizer | None = None,
        name: str | None = None,
        global_step: Variable | None = None,
    ) -> None:
        super().__init__(
            learning_rate, beta1, beta2, epsilon, regularization, name, global_step=global_step
        )
        self.momentum_decay = check_not_negative("nadam: momentum_decay", momentum_decay)

    def _powers(self, like: Variable) -> dict[str, tuple[Variable, float]]:
        decay = 0.96**self.momentum_decay
        return {
            "Beta2Pow": (self._shared_state("beta2_pow", like, self.beta2), self.beta2),
            "DecayPow": (self._shared_state("decay_pow", like, decay), decay),
        }

    def _product(self, like: Variable) -> Variable:
        """The product of mu over all steps."""
        first = self.beta1 * (1 - 0.5 * 0.96**self.momentum_decay)
        return self._shared_state("mu_product", like, first)

    def _attrs(self) -> dict[str, Any]:
        return {
            "beta1": self.beta1,
            "beta2": self.beta2,
            "epsilon": self.epsilon,
            "momentum_decay": self.momentum_decay,
        }

    def _scalars(self, param: Parameter) -> dict[str, Variable]:
        return {**super()._scalars(param), "MuProduct": self._product(param)}

    def _finish_update(self, pairs: list[tuple[Parameter, Variable]]) -> list[Operator]:
        updates = super()._finish_update(pairs)
        products: dict[str, tuple[Variable, Variable]] = {}
        for param, _ in pairs:
            product = self._product(param)
            power, _ = self._powers(param)["DecayPow"]
            products[product.name] = (product, power)
        block = self._updates_block()
        for product, power in products.values():
            attrs = {"shape": [1], "dtype": dtype_number(power.dtype), "value": self.beta1}
            limit = block.append_single("fill_constant", {}, attrs, key="mu")
            less = block.append_single("scale", {"X": power}, {"scale": 0.5 * self.beta1}, key="mu")
            mu = block.append_single("elementwise_sub", {"X": limit, "Y": less}, key="mu")
            inputs = {"X": product, "Y": mu}
            updates.append(block.append_op("elementwise_mul", inputs, {"Out": product}))
        return updates
