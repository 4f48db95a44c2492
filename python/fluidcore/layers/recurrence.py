"""What recurrent networks have in common: layers, directions, lengths and states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, TypeAlias

from fluidcore import core
from fluidcore.base.checks import extents_agree
from fluidcore.base.dtypes import FLOATING
from fluidcore.initializer import Constant, Initializer, Xavier
from fluidcore.layers.batch_size_like import fill_constant_batch_size_like
from fluidcore.layers.helper import LayerHelper, check_size, check_variable
from fluidcore.layers.nn import dropout
from fluidcore.layers.static_rnn import StaticRNN
from fluidcore.layers.tensor import concat
from fluidcore.param_attr import ParamAttr, ParamAttrLike
from fluidcore.program import Parameter, Variable
from fluidcore.program.arguments import Argument

States: TypeAlias = "tuple[Variable, ...]"  # the first is the result of a step
Product: TypeAlias = "Callable[[Variable], Variable]"
# Of what the input gives, the states before, and the product with the recurrent weight.
Step: TypeAlias = "Callable[[Variable, States, Product], States]"


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
        self.helper = LayerHelper(layer_type, name)
        self.dropout = (0.0, False)
        self._size = size
        self._gates = gates * size
        self._attrs = attrs
        self._has_recurrent_bias = has_recurrent_bias

    def append(
        self,
        op_type: str,
        inputs: Mapping[str, Argument],
        attrs: Mapping[str, Any] | None = None,
        out: str = "Out",
    ) -> Variable:
        """Appends an operator to the current block: that of a step, inside of one."""
        here = LayerHelper(self.helper.layer_type, self.helper.name)
        return here.append(op_type, inputs, attrs, out)

    def read(self, input: Variable, lengths: Variable | None, time_major: bool) -> None:
        """Takes the input, [batch, time, features], as [time, batch, features].

        Args:
            input: What the first layer sees.
            lengths: [batch], the steps that count; None for all.
            time_major: Whether input is [time, batch, features].
        """
        who = self.helper.layer_type
        check_variable(who, "input", input)
        layout = "[time, batch, features]" if time_major else "[batch, time, features]"
        if len(input.shape) != 3 or input.shape[2] == -1 or input.dtype not in FLOATING:
            raise core.InvalidArgument(
                f"{who}: input must be {layout}, floating, with known features, got "
                f"'{input.name}' {input.dtype} {list(input.shape)}"
            )
        self._time_major = time_major
        self._x = input if time_major else self._other_layout(input)
        self._counts = None if lengths is None else self._steps_that_count(lengths)

    def _other_layout(self, x: Variable) -> Variable:
        return self.append("transpose", {"X": x}, {"axis": [1, 0, 2]})

    def _steps_that_count(self, lengths: Variable) -> Variable:
        """Bool [time, batch, 1]."""
        who = self.helper.layer_type
        check_variable(who, "lengths", lengths)
        batch = self._x.shape[1]
        if lengths.dtype not in ("int32", "int64") or not extents_agree(lengths.shape, [batch]):
            raise core.InvalidArgument(
                f"{who}: lengths must be int32 or int64 [batch], where batch is {batch}, got "
                f"'{lengths.name}' {lengths.dtype} {list(lengths.shape)}"
            )
        ones = fill_constant_batch_size_like(self._x, [-1, 1], lengths.dtype, 1)
        step = self.append("cumsum", {"X": ones}, {"axis": 0, "exclusive": True})
        counts = self.append("less_than", {"X": step, "Y": lengths})
        return self.append("unsqueeze", {"X": counts}, {"axes": [2]})

    def run(
        self,
        step: Step,
        num_layers: int,
        is_bidirec: bool,
        initial: Sequence[Variable | None],
    ) -> tuple[Variable, list[Variable]]:
        """Appends all layers.

        Args:
            step: Appends one step.
            num_layers: At least 1.
            is_bidirec: Whether each layer has a part in the reverse direction.
            initial: Of each state, the first: [num_layers directions, batch, size]; None for 0.

        Returns:
            The states of the last layer, in the layout of the input, and of each state the last
            ones, [num_layers directions, batch, size].
        """
        check_size(self.helper.layer_type, "num_layers", num_layers)
        directions = (False, True) if is_bidirec else (False,)
        count = num_layers * len(directions)
        for state in initial:
            self._check_initial(state, count)
        x = self._x
        last: list[list[Variable]] = [[] for _ in initial]
        for layer in range(num_layers):
            results = []
            for is_reverse in directions:
                at = layer * len(directions) + is_reverse
                first = [None if state is None else state[at] for state in initial]
                stacks = self._direction(x, step, first, f"{layer}", is_reverse)
                for states, stack in zip(last, stacks, strict=True):
                    states.append(stack[0 if is_reverse else -1])
                results.append(self._counted(stacks[0]))
            x = results[0] if len(results) == 1 else concat(results, axis=2)
            probability, is_test = self.dropout
            if layer + 1 < num_layers and probability:
                x = dropout(x, probability, is_test)
        out = x if self._time_major else self._other_layout(x)
        return out, [self.append("stack", {"X": states}, out="Y") for states in last]

    def _check_initial(self, state: Variable | None, count: int) -> None:
        if state is None:
            return
        who = self.helper.layer_type
        check_variable(who, "a first state", state)
        expected = [count, self._x.shape[1], self._size]
        if state.dtype != self._x.dtype or not extents_agree(state.shape, expected):
            raise core.InvalidArgument(
                f"{who}: a first state must be [num_layers directions, batch, size], here "
                f"{self._x.dtype} {expected}, got '{state.name}' {state.dtype} {list(state.shape)}"
            )

    def _counted(self, stack: Variable) -> Variable:
        """The results, 0 after the last step of each example."""
        if self._counts is None:
            return stack
        zeros = fill_constant_batch_size_like(stack, [1, 1, 1], stack.dtype, 0.0)
        return self._where(self._counts, stack, zeros)

    def _where(self, condition: Variable, x: Variable, y: Variable) -> Variable:
        return self.append("where", {"Condition": condition, "X": x, "Y": y})

    def _direction(
        self,
        x: Variable,
        step: Step,
        first: Sequence[Variable | None],
        layer: str,
        is_reverse: bool,
    ) -> list[Variable]:
        """The states [time, batch, size] after all steps."""
        key = f"{layer}.reverse" if is_reverse else layer
        features = x.shape[2]
        weight = self._weight(f"{key}.w", [features, self._gates], x.dtype)
        recurrent = self._weight(f"{key}.u", [self._size, self._gates], x.dtype)
        bias = self._bias(f"{key}.b", x.dtype)
        recurrent_bias = self._bias(f"{key}.r", x.dtype) if self._has_recurrent_bias else None
        gates = self._linear(x, weight, bias)

        def product(hidden: Variable) -> Variable:
            return self._linear(hidden, recurrent, recurrent_bias)

        loop = StaticRNN(is_reverse=is_reverse)
        with loop.step():
            part = loop.step_input(gates)
            counts = None if self._counts is None else loop.step_input(self._counts)
            before = tuple(
                loop.memory(init=state)
                if state is not None
                else loop.memory(shape=[-1, self._size], batch_ref=part)
                for state in first
            )
            after = step(part, before, product)
            if counts is not None:
                after = tuple(
                    self._where(counts, new, old) for new, old in zip(after, before, strict=True)
                )
            for old, new in zip(before, after, strict=True):
                loop.update_memory(old, new)
                loop.step_output(new)
        stacks = loop()
        return [stacks] if isinstance(stacks, Variable) else stacks

    def _linear(self, x: Variable, weight: Variable, bias: Variable | None) -> Variable:
        attrs = {"x_num_col_dims": len(x.shape) - 1}
        out = self.append("mul", {"X": x, "Y": weight}, attrs)
        return out if bias is None else out + bias

    def _weight(self, suffix: str, shape: Sequence[int], dtype: str) -> Parameter:
        made = self._parameter(self._attrs[0], shape, dtype, suffix, Xavier())
        if made is None:
            raise core.InvalidArgument(
                f"{self.helper.layer_type}: param_attr must not be False; the layer needs weights"
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
        return self.helper.create_parameter(given, shape, dtype, suffix, initializer)
