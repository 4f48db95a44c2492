"""What recurrent networks have in common: layers, directions, lengths and states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple, TypeAlias

from fluidcore import core
from fluidcore.base.checks import extents_agree
from fluidcore.base.dtypes import FLOATING
from fluidcore.initializer import Constant, Initializer, Xavier
from fluidcore.layers import generated
from fluidcore.layers.batch_size_like import fill_constant_batch_size_like
from fluidcore.layers.helper import LayerHelper, check_size, check_variable
from fluidcore.layers.nn import dropout, mul
from fluidcore.layers.static_rnn import StaticRNN
from fluidcore.layers.tensor import concat
from fluidcore.param_attr import ParamAttr, ParamAttrLike
from fluidcore.program import Parameter, Variable

States: TypeAlias = "tuple[Variable, ...]"  # the first is the result of a step
Product: TypeAlias = "Callable[[Variable], Variable]"
# Of what the input gives, the states before, and the product with the recurrent weight.
Step: TypeAlias = "Callable[[Variable, States, Product], States]"


class Form(NamedTuple):
    """How a network is put together.

    Attributes:
        num_layers: At least 1.
        is_bidirec: Whether each layer has a part in the reverse direction.
        time_major: Whether input and result are [time, batch, ...].
        dropout_prob: Of the results of each layer but the last.
        is_test: Whether dropout leaves them as they are.
    """

    num_layers: int
    is_bidirec: bool
    time_major: bool
    dropout_prob: float
    is_test: bool


class Network:
    """A recurrent network in the making.

    Args:
        layer_type: "lstm".
        size: Elements of a state.
        gates: How many numbers the weights give for each of them.
        attrs: Of the weights, and of the biases.
        name: Name of the layer; None makes one up.
        has_recurrent_bias: Whether the product with the recurrent weight has a bias of its own.
    """

    def __init__(
        self,
        layer_type: str,
        size: int,
        gates: int,
        attrs: tuple[ParamAttrLike, ParamAttrLike],
        name: str | None,
        has_recurrent_bias: bool = False,
    ) -> None:
        check_size(layer_type, "size", size)
        self._who = layer_type
        self._helper = LayerHelper(layer_type, name)
        self._size = size
        self._gates = gates * size
        self._attrs = attrs
        self._has_recurrent_bias = has_recurrent_bias

    def run(
        self,
        step: Step,
        input: Variable,
        lengths: Variable | None,
        initial: Sequence[Variable | None],
        form: Form,
    ) -> tuple[Variable, list[Variable]]:
        """Appends all layers.

        Args:
            step: Appends one step.
            input: [batch, time, features].
            lengths: [batch], the steps that count; None for all.
            initial: Of each state, the first: [num_layers directions, batch, size]; None for 0.
            form: How they are put together.

        Returns:
            The states of the last layer, in the layout of the input, and of each state the last
            ones, [num_layers directions, batch, size].
        """
        check_size(self._who, "num_layers", form.num_layers)
        self._check_input(input, form.time_major)
        x = input if form.time_major else input.transpose(1, 0, 2)
        counts = None if lengths is None else self._steps_that_count(x, lengths)
        directions = (False, True) if form.is_bidirec else (False,)
        for state in initial:
            self._check_initial(x, state, form.num_layers * len(directions))
        last: list[list[Variable]] = [[] for _ in initial]
        for layer in range(form.num_layers):
            results = []
            for is_reverse in directions:
                at = layer * len(directions) + is_reverse
                first = [None if state is None else state[at] for state in initial]
                key = f"{layer}.reverse" if is_reverse else f"{layer}"
                stacks, ends = self._direction(x, counts, step, first, key, is_reverse)
                for states, end in zip(last, ends, strict=True):
                    states.append(end)
                results.append(_counted(stacks[0], counts))
            x = results[0] if len(results) == 1 else concat(results, axis=2)
            if layer + 1 < form.num_layers and form.dropout_prob:
                x = dropout(x, form.dropout_prob, form.is_test)
        out = x if form.time_major else x.transpose(1, 0, 2)
        return out, [generated.stack(states, axis=0) for states in last]

    def _check_input(self, input: Variable, time_major: bool) -> None:
        check_variable(self._who, "input", input)
        layout = "[time, batch, features]" if time_major else "[batch, time, features]"
        if len(input.shape) != 3 or input.shape[2] == -1 or input.dtype not in FLOATING:
            raise core.InvalidArgument(
                f"{self._who}: input must be {layout}, floating, with known features, got "
                f"'{input.name}' {input.dtype} {list(input.shape)}"
            )

    def _steps_that_count(self, x: Variable, lengths: Variable) -> Variable:
        """Bool [time, batch, 1]."""
        check_variable(self._who, "lengths", lengths)
        batch = x.shape[1]
        if lengths.dtype not in ("int32", "int64") or not extents_agree(lengths.shape, [batch]):
            raise core.InvalidArgument(
                f"{self._who}: lengths must be int32 or int64 [batch], where batch is {batch}, got "
                f"'{lengths.name}' {lengths.dtype} {list(lengths.shape)}"
            )
        ones = fill_constant_batch_size_like(x, [-1, 1], lengths.dtype, 1)
        before = generated.cumsum(ones, axis=0, exclusive=True)
        counts: Variable = (before < lengths).unsqueeze(2)
        return counts

    def _check_initial(self, x: Variable, state: Variable | None, count: int) -> None:
        if state is None:
            return
        check_variable(self._who, "a first state", state)
        expected = [count, x.shape[1], self._size]
        if state.dtype != x.dtype or not extents_agree(state.shape, expected):
            raise core.InvalidArgument(
                f"{self._who}: a first state must be [num_layers directions, batch, size], here "
                f"{x.dtype} {expected}, got '{state.name}' {state.dtype} {list(state.shape)}"
            )

    def _direction(
        self,
        x: Variable,
        counts: Variable | None,
        step: Step,
        first: Sequence[Variable | None],
        key: str,
        is_reverse: bool,
    ) -> tuple[list[Variable], list[Variable]]:
        """The states [time, batch, size] after each step, and those [batch, size] after the last.

        After no steps they are what they were before.
        """
        weight = self._weight(f"{key}.w", [x.shape[2], self._gates], x.dtype)
        recurrent = self._weight(f"{key}.u", [self._size, self._gates], x.dtype)
        bias = self._bias(f"{key}.b", x.dtype)
        recurrent_bias = self._bias(f"{key}.r", x.dtype) if self._has_recurrent_bias else None
        gates = _linear(x, weight, bias)
        zeros = [-1, self._size]
        initial = [
            fill_constant_batch_size_like(gates, zeros, x.dtype, 0.0, input_dim_idx=1)
            if state is None
            else state
            for state in first
        ]
        loop = StaticRNN(is_reverse=is_reverse)
        with loop.step():
            part = loop.step_input(gates)
            counted = None if counts is None else loop.step_input(counts)
            before = tuple(loop.memory(init=state) for state in initial)
            after = step(part, before, lambda hidden: _linear(hidden, recurrent, recurrent_bias))
            for old, new in zip(before, after, strict=True):
                kept = new if counted is None else generated.where(counted, new, old)
                loop.update_memory(old, kept)
                loop.step_output(kept)
        found = loop()
        stacks = [found] if isinstance(found, Variable) else found
        end = slice(None, 1) if is_reverse else slice(-1, None)
        ends = [
            concat([state.unsqueeze(0), stack[end]], axis=0)[-1]
            for state, stack in zip(initial, stacks, strict=True)
        ]
        return stacks, ends

    def _weight(self, suffix: str, shape: Sequence[int], dtype: str) -> Parameter:
        made = self._parameter(self._attrs[0], shape, dtype, suffix, Xavier())
        if made is None:
            raise core.InvalidArgument(
                f"{self._who}: param_attr must not be False; the layer needs weights"
            )
        return made

    def _bias(self, suffix: str, dtype: str) -> Parameter | None:
        return self._parameter(self._attrs[1], [self._gates], dtype, suffix, Constant(0.0))

    def _parameter(
        self,
        attr: ParamAttrLike,
        shape: Sequence[int],
        dtype: str,
        suffix: str,
        initializer: Initializer,
    ) -> Parameter | None:
        given = copy(ParamAttr.of(attr))
        if given is None:
            return None
        if given.name is not None:
            given.name = f"{given.name}.{suffix}"
        return self._helper.create_parameter(given, shape, dtype, suffix, initializer)


def _linear(x: Variable, weight: Variable, bias: Variable | None) -> Variable:
    out = mul(x, weight, x_num_col_dims=len(x.shape) - 1)
    return out if bias is None else out + bias


def _counted(stack: Variable, counts: Variable | None) -> Variable:
    """The results, 0 after the last step of each example."""
    if counts is None:
        return stack
    zeros = fill_constant_batch_size_like(stack, [1, 1, 1], stack.dtype, 0.0)
    found: Variable = generated.where(counts, stack, zeros)
    return found
