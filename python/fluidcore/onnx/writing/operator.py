"""What a rule gets: one operator of a program, and the graph that it is written to."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from fluidcore import core
from fluidcore.base.call_site import explain
from fluidcore.base.dtypes import FLOATING
from fluidcore.onnx.writing.graph import Given, Graph, Value, sequence

Values: TypeAlias = "ChainMap[str, Value]"  # variable -> what it holds now
Rule: TypeAlias = "Callable[[Op], None]"


class Spec(NamedTuple):
    """What a variable is declared to be; -1 is an extent that is not known."""

    dtype: str
    shape: tuple[int, ...]


class Body(NamedTuple):
    """The block of an operator as a graph: its nodes, and what its variables hold at the end."""

    graph: Graph
    values: Values


class Context(NamedTuple):
    """What all operators of a block share.

    Attributes:
        block: The block.
        graph: Where nodes are added.
        values: What the variables hold.
        read: The names that anything reads, or the user fetches.
        write_block: Writes another block, given what some of its variables hold at first.
        effects: What blocks do to the variables around them.
    """

    block: core.BlockDesc
    graph: Graph
    values: Values
    read: frozenset[str]
    write_block: Callable[[int, Values], Body]
    effects: core.EffectsOfBlocks


class Op:
    """One operator of a program that is written as nodes.

    Args:
        desc: The operator.
        context: What it shares with the others of its block.
    """

    def __init__(self, desc: core.OpDesc, context: Context) -> None:
        self._desc = desc
        self._context = context
        self.type = desc.type()

    # What the program says

    def attr(self, name: str) -> Any:
        """The value of an attribute."""
        return self._desc.attr(name)

    def input(self, slot: str) -> Value:
        """What the variable of an input slot holds."""
        return self.inputs(slot)[0]

    def maybe(self, slot: str) -> Value | None:
        """What the variable of an input slot holds; None if it was left out."""
        return next(iter(self.inputs(slot)), None)

    def inputs(self, slot: str) -> list[Value]:
        """What the variables of an input slot hold."""
        return [self._value(name) for name in self._names(self._desc.input(slot))]

    def input_names(self, slot: str) -> list[str]:
        """The variables of an input slot."""
        return self._names(self._desc.input(slot))

    def output_names(self, slot: str) -> list[str]:
        """The variables of an output slot, core.EMPTY_VAR_NAME for those that are left out."""
        return self._desc.output(slot)

    def wants(self, slot: str) -> bool:
        """Whether anything reads what is written to an output slot."""
        return not self._context.read.isdisjoint(self._desc.output(slot))

    def declared(self, slot: str) -> Spec:
        """What the (first) variable of an output slot is."""
        return self.declaration(self._desc.output(slot)[0])

    def declaration(self, name: str) -> Spec:
        """What a variable is."""
        var = self._context.block.find_var_recursive(name)
        return Spec(var.dtype(), tuple(var.shape()))

    def known(self, name: str) -> Value | None:
        """What a variable holds; None if nothing was written to it, but an array is empty then."""
        found = self._context.values.get(name)
        if found is None and self._type(name) == "lod_tensor_array":
            spec = self.declaration(name)
            found = sequence(*spec)
            self.append("SequenceEmpty", [], [found], dtype=spec.dtype)
            self.bind(name, found)
        return found

    def first_values(self, names: Sequence[str]) -> list[Value]:
        """What variables hold before a loop that writes them.

        Raises:
            core.InvalidArgument: One holds nothing.
        """
        values = []
        for name in names:
            value = self.known(name)
            if value is None:
                self.refuse(f"'{name}' must have a value before the loop that writes it, got none")
            values.append(value)
        return values

    def written_around(self, block: int) -> list[str]:
        """The variables around a block that it writes."""
        return self._context.effects.of(block)[1]

    # What is written

    def emit(self, op_type: str, *inputs: Given, **attrs: Any) -> Value:
        """Appends a node of one output; see Graph.add."""
        return self.emit_all(op_type, *inputs, **attrs)[0]

    def emit_all(self, op_type: str, *inputs: Given, outputs: int = 1, **attrs: Any) -> list[Value]:
        """Appends a node of several outputs; see Graph.add."""
        return self._context.graph.add(op_type, inputs, outputs, **attrs)

    def append(
        self, op_type: str, inputs: Sequence[Value | None], outputs: Sequence[Value], **attrs: Any
    ) -> None:
        """Appends a node whose outputs are known; see Graph.append."""
        self._context.graph.append(op_type, inputs, outputs, **attrs)

    def cast(self, value: Value, dtype: str) -> Value:
        """The value in another dtype."""
        return self._context.graph.cast(value, dtype)

    def set(self, slot: str, value: Value) -> None:
        """Says what the variable of an output slot holds from now on; nothing if there is none."""
        for name in self._desc.output(slot)[:1]:
            self.bind(name, value)

    def set_all(self, slot: str, values: Sequence[Value]) -> None:
        """Says what the variables of an output slot hold from now on."""
        for name, value in zip(self._desc.output(slot), values, strict=True):
            self.bind(name, value)

    def bind(self, name: str, value: Value) -> None:
        """Says what a variable holds from now on."""
        if name == core.EMPTY_VAR_NAME:
            return
        spec = self.declaration(name)
        assert value.dtype == spec.dtype, f"{self.type}: {name} is {spec.dtype}, not {value.dtype}"
        value.hint = value.hint or name
        if value.shape is None or len(value.shape) != len(spec.shape):
            value.shape = spec.shape
        else:  # an extent that one of the two knows is known
            value.shape = tuple(map(max, value.shape, spec.shape))
        self._context.values[name] = value

    def body(self, block: int, values: Mapping[str, Value]) -> Body:
        """Writes a block as a graph inside this one.

        Args:
            block: Its index.
            values: What some of its variables hold at first.
        """
        return self._context.write_block(block, self._context.values.new_child(dict(values)))

    def refuse(self, reason: str) -> NoReturn:
        """Raises an error that names the operator and the user's line.

        Raises:
            core.InvalidArgument: Always.
        """
        raise refusal(self._desc, reason)

    # In short

    def is_floating(self, value: Value) -> bool:
        """Whether the value has a floating dtype."""
        return value.dtype in FLOATING

    def _value(self, name: str) -> Value:
        if self._type(name) == "selected_rows":
            self.refuse(f"'{name}' must be a tensor, got selected rows")
        value = self.known(name)
        if value is None:
            self.refuse(f"'{name}' must have a value before it is read, got none")
        return value

    def _type(self, name: str) -> str:
        return self._context.block.find_var_recursive(name).type()

    @staticmethod
    def _names(names: Sequence[str]) -> list[str]:
        return [name for name in names if name != core.EMPTY_VAR_NAME]


def refusal(desc: core.OpDesc, reason: str) -> core.InvalidArgument:
    """The error of an operator that cannot be written."""
    error = core.InvalidArgument(f"onnx.save: {desc.type()}: {reason}")
    explain(error, desc.call_site())
    return error
