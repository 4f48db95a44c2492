"""One step of a gated recurrent network."""

from __future__ import annotations

from fluidcore import core
from fluidcore.layers import generated
from fluidcore.layers.helper import atomic, check_variable
from fluidcore.layers.nn import fc
from fluidcore.layers.tensor import concat
from fluidcore.param_attr import ParamAttrLike
from fluidcore.program import Variable


@atomic
def lstm_unit(
    x_t: Variable,
    hidden_t_prev: Variable,
    cell_t_prev: Variable,
    forget_bias: float = 0.0,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """One step of a long short-term memory: a fully connected layer, and the operator `lstm_unit`.

    Args:
        x_t: [batch, features], floating.
        hidden_t_prev: [batch, size], the state before.
        cell_t_prev: [batch, size], the cell before.
        forget_bias: Is added to the forget gate.
        param_attr: Of the weight [features + size, 4 size]: the gates input, forget, output,
            candidate of the input and the state, one below the other.
        bias_attr: Of the bias [4 size]; False for none.
        name: Name of the layer; None makes one up.

    Returns:
        The state and the cell after the step, both [batch, size].

    Raises:
        core.InvalidArgument: Shapes that do not fit.
        TypeError: An argument is no Variable.
    """
    for argument, value in (
        ("x_t", x_t),
        ("hidden_t_prev", hidden_t_prev),
        ("cell_t_prev", cell_t_prev),
    ):
        check_variable("lstm_unit", argument, value)
        if len(value.shape) != 2:
            raise core.InvalidArgument(
                f"lstm_unit: {argument} must have rank 2 [batch, size], got '{value.name}' of "
                f"shape {list(value.shape)}"
            )
    size = cell_t_prev.shape[1]
    both = concat([x_t, hidden_t_prev], axis=1)
    gates = fc(both, 4 * size, param_attr=param_attr, bias_attr=bias_attr, name=name)
    cell, hidden = generated.lstm_unit(gates, cell_t_prev, forget_bias)
    return hidden, cell
