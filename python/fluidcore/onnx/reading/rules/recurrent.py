"""RNN, LSTM and GRU: blocks that are run once for each time step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from fluidcore import layers
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rule, Rules, append, reshaped, transposed
from fluidcore.program import Variable

States: TypeAlias = "list[Variable]"
# of what the input gives, and the states before: the states after, the first of which is the result
Step: TypeAlias = "Callable[[Variable, States], States]"

_ACTIVATIONS: dict[str, tuple[str, dict[str, float]]] = {
    "elu": ("elu", {"alpha": 1.0}),
    "hardsigmoid": ("hard_sigmoid", {"slope": 0.2, "offset": 0.5}),
    "leakyrelu": ("leaky_relu", {"alpha": 0.01}),
    "relu": ("relu", {}),
    "sigmoid": ("sigmoid", {}),
    "softplus": ("softplus", {}),
    "softsign": ("softsign", {}),
    "tanh": ("tanh", {}),
}


class _Direction:
    """One direction of a recurrent node.

    Args:
        node: The node.
        at: Which of the directions.
        gates: How many gates there are.
        defaults: Activations, if the node names none.
    """

    def __init__(self, node: Node, at: int, gates: int, defaults: tuple[str, ...]) -> None:
        self.node = node
        self.at = at
        self.size = node.shape(2)[-1]
        self.gates = gates
        names = [str(name).lower() for name in node.attr("activations", list(defaults))]
        count = len(defaults)
        self.names = names[at * count : (at + 1) * count] if len(names) > count else names
        unknown = sorted(set(self.names) - _ACTIVATIONS.keys())
        if unknown or len(self.names) != count:
            raise node.refuse(f"activations must be {count} of {sorted(_ACTIVATIONS)}", names)
        self.limit = node.attr("clip", None)

    def part(self, index: int) -> Variable:
        """What of an input [directions, ...] belongs to the direction."""
        whole = self.node.var(index)
        if whole.shape[0] == 1:
            return reshaped(whole, whole.shape[1:])
        attrs = {"axes": [0], "starts": [self.at], "ends": [self.at + 1]}
        return reshaped(append("slice", {"X": whole}, attrs), whole.shape[1:])

    def cut(self, x: Variable, count: int | None = None) -> list[Variable]:
        """The parts of the last dimension, one for each gate."""
        count = self.gates if count is None else count
        if count == 1:
            return [x]
        return layers.split(x, [self.size] * count, dim=-1)

    def activation(self, which: int, x: Variable) -> Variable:
        """An activation of a gate, clipped before if the node says so."""
        if self.limit is not None:
            x = append("clip", {"X": x}, {"min": -float(self.limit), "max": float(self.limit)})
        op_type, attrs = _ACTIVATIONS[self.names[which]]
        return append(op_type, {"X": x}, attrs)


def _product(x: Variable, weight: Variable) -> Variable:
    return append("matmul", {"X": x, "Y": weight}, {"transpose_Y": True})


def _simple(direction: _Direction) -> tuple[Step, Variable | None]:
    weight = direction.part(2)
    bias = None
    if direction.node.has(3):
        own, recurrent = direction.cut(direction.part(3), 2)
        bias = own + recurrent

    def step(x: Variable, states: States) -> States:
        return [direction.activation(0, x + _product(states[0], weight))]

    return step, bias


def _lstm(direction: _Direction) -> tuple[Step, Variable | None]:
    node = direction.node
    if node.attr("input_forget", 0):
        raise node.refuse("attribute input_forget must be 0", 1)
    if node.has_attr("clip"):  # of the cell, too, or of the gates alone: frameworks differ
        raise node.refuse("attribute clip must not be given", node.attr("clip"))
    weight = direction.part(2)
    bias = None
    if node.has(3):
        parts = direction.cut(direction.part(3), 8)
        pairs = zip(parts[:4], parts[4:], strict=True)
        bias = append("concat", {"X": [a + b for a, b in pairs]}, {"axis": 0})
    peepholes = direction.cut(direction.part(7), 3) if node.has(7) else None

    def step(x: Variable, states: States) -> States:
        hidden, cell = states
        given, out, forget, new = direction.cut(x + _product(hidden, weight))
        if peepholes is not None:
            given, forget = given + peepholes[0] * cell, forget + peepholes[2] * cell
        kept = direction.activation(0, forget) * cell
        cell = kept + direction.activation(0, given) * direction.activation(1, new)
        if peepholes is not None:
            out = out + peepholes[1] * cell
        return [direction.activation(0, out) * direction.activation(2, cell), cell]

    return step, bias


def _gru(direction: _Direction) -> tuple[Step, Variable | None]:
    node = direction.node
    update_weight, reset_weight, new_weight = (
        append("slice", {"X": direction.part(2)}, {"axes": [0], "starts": [s], "ends": [e]})
        for s, e in ((i * direction.size, (i + 1) * direction.size) for i in range(3))
    )
    linear = bool(node.attr("linear_before_reset", 0))
    bias = recurrent_bias = None
    if node.has(3):
        parts = direction.cut(direction.part(3), 6)
        update, reset, new = (a + b for a, b in zip(parts[:3], parts[3:], strict=True))
        if linear:
            new, recurrent_bias = parts[2], parts[5]
        bias = append("concat", {"X": [update, reset, new]}, {"axis": 0})

    def step(x: Variable, states: States) -> States:
        (hidden,) = states
        update, reset, new = direction.cut(x)
        update = direction.activation(0, update + _product(hidden, update_weight))
        reset = direction.activation(0, reset + _product(hidden, reset_weight))
        if linear:
            product = _product(hidden, new_weight)
            product = product if recurrent_bias is None else product + recurrent_bias
            new = new + reset * product
        else:
            new = new + _product(reset * hidden, new_weight)
        new = direction.activation(1, new)
        return [new + update * (hidden - new)]

    return step, bias


def _recurrent(
    build: Callable[[_Direction], tuple[Step, Variable | None]],
    gates: int,
    defaults: tuple[str, ...],
    states_at: tuple[int, ...],
) -> Rule:
    """The rule of a kind of network.

    Args:
        build: What a step is, and the bias.
        gates: How many there are.
        defaults: Their activations.
        states_at: The inputs that the states begin with.
    """

    def rule(node: Node) -> Result:
        node.ignore("hidden_size", "output_sequence")
        batch_first = bool(node.attr("layout", 0))
        x = node.var(0)
        x = transposed(x, [1, 0, 2]) if batch_first else x
        kinds = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        kind = node.attr("direction")
        if kind not in kinds:
            raise node.refuse(f"attribute direction must be one of {list(kinds)}", repr(kind))
        lengths = node.optional_var(4)
        found = []
        for at, is_reverse in enumerate(kinds[kind]):
            direction = _Direction(node, at, gates, defaults)
            step, bias = build(direction)
            first = [_first(node, x, direction, i, batch_first) for i in states_at]
            given = _product(x, direction.part(1))
            given = given if bias is None else given + bias
            found.append(_run(node, given, lengths, step, first, is_reverse))
        results = [_stacked([each[0] for each in found], 1)]
        results += [_stacked([each[1][i] for each in found], 0) for i in range(len(states_at))]
        if not batch_first:
            return results
        sequence, *last = results
        return [transposed(sequence, [2, 0, 1, 3]), *(transposed(s, [1, 0, 2]) for s in last)]

    return rule


def _stacked(parts: list[Variable], axis: int) -> Variable:
    return append("stack", {"X": parts}, {"axis": axis}, out="Y")


def _first(
    node: Node, x: Variable, direction: _Direction, index: int, batch_first: bool
) -> Variable:
    """What a state begins with: [batch, size]."""
    batch = x.shape[1]
    if not node.has(index):
        if batch < 0:
            raise node.refuse("the batch must be known where states begin with 0", list(x.shape))
        return layers.fill_constant([batch, direction.size], x.dtype, 0.0)
    whole = node.var(index)
    whole = transposed(whole, [1, 0, 2]) if batch_first else whole
    attrs = {"axes": [0], "starts": [direction.at], "ends": [direction.at + 1]}
    return reshaped(append("slice", {"X": whole}, attrs), whole.shape[1:])


def _run(
    node: Node,
    given: Variable,
    lengths: Variable | None,
    step: Step,
    first: States,
    is_reverse: bool,
) -> tuple[Variable, States]:
    """The results of all steps, [time, batch, size], and the last states."""
    time = given.shape[0]
    counts = None
    if lengths is not None:
        if time < 0:
            raise node.refuse("the time must be known where lengths are given", given.shape)
        node.check_count(time)
        steps = node.as_variable(constant(np.arange(time)[:, None, None], lengths.dtype))
        counts = layers.less_than(steps, reshaped(lengths, [1, -1, 1]))
    rnn = layers.StaticRNN(is_reverse=is_reverse)
    with rnn.step():
        now = rnn.step_input(given)
        counted = None if counts is None else rnn.step_input(counts)
        before = [rnn.memory(init=state) for state in first]
        after = step(now, before)
        if counted is not None:
            after = [layers.where(counted, a, b) for a, b in zip(after, before, strict=True)]
        for memory, state in zip(before, after, strict=True):
            rnn.update_memory(memory, state)
        rnn.output(*after)
    found = rnn()
    states = found if isinstance(found, list) else [found]
    end = [0, 1] if is_reverse else [time - 1, time] if time > 0 else [-1, 2**31 - 1]
    attrs = {"axes": [0], "starts": [end[0]], "ends": [end[1]]}
    last = [reshaped(append("slice", {"X": s}, attrs), s.shape[1:]) for s in states]
    results = states[0]
    if counts is not None:
        nothing = layers.fill_constant([], results.dtype, 0.0)
        results = layers.where(counts, results, nothing)
    return results, last


RULES: Rules = {
    "GRU": _recurrent(_gru, 3, ("sigmoid", "tanh"), (5,)),
    "LSTM": _recurrent(_lstm, 4, ("sigmoid", "tanh", "tanh"), (5, 6)),
    "RNN": _recurrent(_simple, 1, ("tanh",), (5,)),
}
