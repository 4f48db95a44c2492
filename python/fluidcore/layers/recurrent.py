"""Recurrent networks over padded batches: several layers, one or both directions."""

from __future__ import annotations

from fluidcore.layers import generated
from fluidcore.layers.helper import LayerHelper, atomic
from fluidcore.layers.recurrence import Form, Network, Product, States
from fluidcore.param_attr import ParamAttrLike
from fluidcore.program import Variable


@atomic
def lstm(
    input: Variable,
    size: int,
    num_layers: int = 1,
    lengths: Variable | None = None,
    init_h: Variable | None = None,
    init_c: Variable | None = None,
    is_bidirec: bool = False,
    time_major: bool = False,
    dropout_prob: float = 0.0,
    is_test: bool = False,
    forget_bias: float = 0.0,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    name: str | None = None,
) -> tuple[Variable, Variable, Variable]:
    """Long short-term memories (Hochreiter and Schmidhuber 1997), one on top of the other.

    Of each layer and direction: x W + h U + b gives the gates input, forget, output, candidate of
    `lstm_unit`. PyTorch's order is input, forget, candidate, output, with transposed weights.

    Args:
        input: [batch, time, features], floating.
        size: Elements of a state, at least 1.
        num_layers: At least 1; each but the first has the results of the one below as its input.
        lengths: [batch], int32 or int64: how many steps of each example count; None for all. After
            them results are 0 and the state stays what it is; a reverse direction begins at the
            last of them.
        init_h: [num_layers directions, batch, size], the first states; None for 0. In a layer the
            reverse direction follows the other.
        init_c: Likewise, of the cells.
        is_bidirec: Whether each layer has a second part that begins at the last step.
        time_major: Whether `input` and `out` are [time, batch, ...].
        dropout_prob: Of the results of each layer but the last.
        is_test: Whether dropout leaves them as they are.
        forget_bias: Is added to the forget gate.
        param_attr: Of the weights W [features, 4 size] and U [size, 4 size]. A name is that of all
            weights: name.0.w and name.0.u of layer 0, name.0.reverse.w of its other direction.
        bias_attr: Of b [4 size]: name.0.b; False for none.
        name: Name of the layer; None makes one up.

    Returns:
        out: [batch, time, directions size], the states of the last layer in all steps.
        last_h: [num_layers directions, batch, size], the states after the last step.
        last_c: Likewise, of the cells.

    Raises:
        core.InvalidArgument: Extents or numbers that do not fit.
        TypeError: An argument is no Variable.
    """
    network = Network("lstm", size, 4, (param_attr, bias_attr), name)

    def step(x: Variable, states: States, recurrent: Product) -> States:
        hidden, cell = states
        cell, hidden = generated.lstm_unit(x + recurrent(hidden), cell, forget_bias)
        return hidden, cell

    form = Form(num_layers, is_bidirec, time_major, dropout_prob, is_test)
    out, (last_h, last_c) = network.run(step, input, lengths, (init_h, init_c), form)
    return out, last_h, last_c


@atomic
def gru(
    input: Variable,
    size: int,
    num_layers: int = 1,
    lengths: Variable | None = None,
    init_h: Variable | None = None,
    is_bidirec: bool = False,
    time_major: bool = False,
    dropout_prob: float = 0.0,
    is_test: bool = False,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Gated recurrent units (Cho et al. 2014), one on top of the other.

    Of each layer and direction: x W + b and h U + r give the gates update, reset, candidate of
    `gru_cell`. PyTorch's order is reset, update, candidate, and its update gate the other way:
    sigmoid(-u); its weights are transposed.

    Args:
        input: [batch, time, features], floating.
        size: Elements of a state, at least 1.
        num_layers: As of `lstm`.
        lengths: As of `lstm`.
        init_h: [num_layers directions, batch, size], the first states; None for 0.
        is_bidirec: Whether each layer has a second part that begins at the last step.
        time_major: Whether `input` and `out` are [time, batch, ...].
        dropout_prob: Of the results of each layer but the last.
        is_test: Whether dropout leaves them as they are.
        param_attr: Of the weights W [features, 3 size] and U [size, 3 size]; names as of `lstm`.
        bias_attr: Of b and r [3 size]: name.0.b and name.0.r; False for none.
        name: Name of the layer; None makes one up.

    Returns:
        out: [batch, time, directions size], the states of the last layer in all steps.
        last_h: [num_layers directions, batch, size], the states after the last step.

    Raises:
        core.InvalidArgument: Extents or numbers that do not fit.
        TypeError: An argument is no Variable.
    """
    network = Network("gru", size, 3, (param_attr, bias_attr), name, has_recurrent_bias=True)

    def step(x: Variable, states: States, recurrent: Product) -> States:
        return (generated.gru_cell(x, recurrent(states[0]), states[0]),)

    form = Form(num_layers, is_bidirec, time_major, dropout_prob, is_test)
    out, (last_h,) = network.run(step, input, lengths, (init_h,), form)
    return out, last_h


@atomic
def rnn(
    input: Variable,
    size: int,
    num_layers: int = 1,
    lengths: Variable | None = None,
    init_h: Variable | None = None,
    is_bidirec: bool = False,
    time_major: bool = False,
    dropout_prob: float = 0.0,
    is_test: bool = False,
    act: str = "tanh",
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Simple recurrent networks (Elman 1990), h = act(x W + h U + b), one on top of the other.

    Args:
        input: [batch, time, features], floating.
        size: Elements of a state, at least 1.
        num_layers: As of `lstm`.
        lengths: As of `lstm`.
        init_h: [num_layers directions, batch, size], the first states; None for 0.
        is_bidirec: Whether each layer has a second part that begins at the last step.
        time_major: Whether `input` and `out` are [time, batch, ...].
        dropout_prob: Of the results of each layer but the last.
        is_test: Whether dropout leaves them as they are.
        act: Type of an activation operator.
        param_attr: Of the weights W [features, size] and U [size, size]; names as of `lstm`.
        bias_attr: Of b [size]: name.0.b; False for none.
        name: Name of the layer; None makes one up.

    Returns:
        out: [batch, time, directions size], the states of the last layer in all steps.
        last_h: [num_layers directions, batch, size], the states after the last step.

    Raises:
        core.InvalidArgument: Extents or numbers that do not fit.
        TypeError: An argument is no Variable.
    """
    network = Network("rnn", size, 1, (param_attr, bias_attr), name)

    def step(x: Variable, states: States, recurrent: Product) -> States:
        return (LayerHelper("rnn").activation(x + recurrent(states[0]), act),)

    form = Form(num_layers, is_bidirec, time_major, dropout_prob, is_test)
    out, (last_h,) = network.run(step, input, lengths, (init_h,), form)
    return out, last_h
