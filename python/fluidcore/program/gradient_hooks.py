"""What a parameter carries that acts on its gradient after backward, before the optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fluidcore.base.settings import Settings

if TYPE_CHECKING:
    from fluidcore.program.block import Block
    from fluidcore.program.variable import Parameter, Variable


class WeightDecayRegularizer(Settings):
    """A penalty on the size of a parameter."""

    def __call__(self, param: Variable, grad: Variable, block: Block) -> Variable:
        """Appends to `block` the derivative of the penalty, a variable of the parameter's shape.

        Of a gradient of selected rows both variables hold these rows alone.
        """
        raise NotImplementedError


class BaseGradientClipAttr(Settings):
    """Clips the gradient of a parameter after backward, before the optimizer.

    Of a gradient of selected rows it is given the values of these rows, each row once.
    """

    def process_context(self, context: dict[Any, Any], param: Parameter, grad: Variable) -> None:
        """Told of every gradient before the first is clipped."""

    def create_operators(
        self, context: dict[Any, Any], param: Parameter, grad: Variable
    ) -> Variable:
        """Appends the operators that clip `grad`; returns the clipped gradient."""
        raise NotImplementedError
