"""Members that Fluid's optimizers had beside `minimize` and its halves."""

from __future__ import annotations

from typing import Any

from fluidcore.clip import ParamsGrads
from fluidcore.optimizer.changing import changing, some_gradient
from fluidcore.program import Operator, Program, Variable


class FluidMembers:
    """Of an Optimizer."""

    def create_optimization_pass(
        self: Any,
        parameters_and_grads: ParamsGrads,
        loss: Variable | None = None,
        startup_program: Program | None = None,
    ) -> list[Operator]:
        """The last part of `apply_gradients`: the updates, without clips and weight decay.

        Args:
            parameters_and_grads: Each parameter with its gradient, or None.
            loss: Accepted for Fluid's sake.
            startup_program: Initializes the optimizer's state; None for the default one.

        Returns:
            The update operators.

        Raises:
            core.InvalidArgument: No parameter has a gradient.
        """
        del loss
        grad = some_gradient(parameters_and_grads)
        with changing(grad, startup_program) as startup:
            self._begin_updates(grad, startup)
            updates: list[Operator] = self._append_updates(parameters_and_grads)
            return updates

    def global_learning_rate(self: Any, program: Program | None = None) -> Variable | None:
        """The learning rate of the parameters of the last `minimize`; None before it.

        Args:
            program: Accepted for Fluid's sake.
        """
        del program
        if isinstance(self.learning_rate, Variable):
            return self.learning_rate
        rates = (rate for (name, _), rate in self._shared.items() if name == "learning_rate")
        return next(rates, None)
