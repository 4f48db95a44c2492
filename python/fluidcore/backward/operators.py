"""What append_backward knows of an operator: forward operators, gradient operators, types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.base.definitions import remembered
from fluidcore.program import Block

EMPTY = core.EMPTY_VAR_NAME
Slots = Mapping[str, list[str]]


class ForwardOp(NamedTuple):
    """An operator of the forward block.

    Attributes:
        type: Type of the operator.
        inputs: Names read, of all slots, and by its sub-block.
        outputs: Names written, of all slots, and by its sub-block.
        position: Index in its block.
        desc: The operator itself, for its gradient maker.
        body: What it runs; None for an operator without sub-block.
        has_arrays: Whether it may change tensor arrays in place.
    """

    type: str
    inputs: list[str]
    outputs: list[str]
    position: int = 0
    desc: core.OpDesc | None = None
    body: Body | None = None
    has_arrays: bool = False


class State(NamedTuple):
    """What a `recurrent` operator carries from step to step.

    Attributes:
        initial: The outer variable that it starts from.
        before: The variable of the sub-block that holds it during a step.
        after: The variable of the sub-block that the next step gets.
    """

    initial: str
    before: str
    after: str


class Body(NamedTuple):
    """The sub-block of an operator.

    Attributes:
        block: The sub-block.
        ops: Its operators.
        local: Names of its variables.
        reads: Outer variables that it reads.
        writes: Outer variables that it writes.
        sliced: Outer sequence -> the step's slice of it.
        stacked: Outer sequence -> what each step adds to it.
        states: What is carried from step to step beside outer variables.
        given: Local variables that have a value before the operators run.
    """

    block: Block
    ops: list[ForwardOp]
    local: frozenset[str]
    reads: list[str]
    writes: list[str]
    sliced: list[tuple[str, str]]
    stacked: list[tuple[str, str]]
    states: list[State]
    given: frozenset[str]


class GradOp(NamedTuple):
    """An operator of the gradient.

    Attributes:
        type: Type of the operator.
        inputs: Slot -> names.
        outputs: Slot -> names, @EMPTY@ for a gradient that is not wanted.
        attrs: Attributes of an operator without `desc`.
        cotangents: The gradients that come in: name -> forward variable.
        incoming: Those that decide whether the operator is needed; None for the ones it reads.
        desc: Where type, attributes and, unless `renamed`, the slots come from.
        renamed: Whether the slots differ from those of `desc`.
        call_site: Where the user wrote the forward operator.
        forward: The operator whose gradient this is part of.
        new_values: Names that stand for what `forward` left in a variable that it also read.
        old_values: Names that stand for what `forward` read.
        reads: Names that its sub-block reads.
        writes: Names that its sub-block writes.
    """

    type: str
    inputs: Slots
    outputs: Slots
    attrs: Mapping[str, Any] = {}
    cotangents: Mapping[str, str] = {}
    desc: core.OpDesc | None = None
    renamed: bool = False
    call_site: str = ""
    forward: ForwardOp | None = None
    new_values: Mapping[str, str] = {}
    old_values: Mapping[str, str] = {}
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    incoming: tuple[str, ...] | None = None

    def input_names(self) -> list[str]:
        """Names read, of all slots and by the sub-block."""
        return [*_names(self.inputs), *self.reads]

    def output_names(self) -> list[str]:
        """Names written, of all slots and by the sub-block; with repeats."""
        return [*_names(self.outputs), *self.writes]


def _names(slots: Slots) -> list[str]:
    return [name for names in slots.values() for name in names if name != EMPTY]


def renamed_slots(slots: Slots, names: Mapping[str, str]) -> Slots:
    """The slots with other names; the same object if nothing changes."""
    if all(names.get(name, name) == name for args in slots.values() for name in args):
        return slots
    return {slot: [names.get(name, name) for name in args] for slot, args in slots.items()}


class OpTraits:
    """What append_backward must know of an operator type."""

    def __init__(self, op_type: str) -> None:
        definition = core.op_def(op_type)
        self.is_constant = definition.is_constant
        self.has_grad = definition.has_grad
        self.runs_block = definition.runs_block
        self.is_random = definition.is_random
        self.no_gradient = frozenset(
            slot.name for slot in (*definition.inputs, *definition.outputs) if slot.no_gradient
        )
        self.needs_no_gradient = frozenset(
            slot.name
            for slot in (*definition.inputs, *definition.outputs)
            if slot.needs_no_gradient
        )
        self._shape_only = frozenset(slot.name for slot in definition.inputs if slot.shape_only)
        self._read_for = {s.name: s.read_for for s in definition.inputs if s.read_for}
        self.arrays = frozenset(
            slot.name for slot in (*definition.inputs, *definition.outputs) if slot.array
        )

    def shape_only(self, outputs: Slots) -> frozenset[str]:
        """The input slots whose elements an operator with these outputs does not read."""
        unread = [
            slot
            for slot, output in self._read_for.items()
            if all(name == EMPTY for name in outputs.get(output, ()))
        ]
        return self._shape_only.union(unread) if unread else self._shape_only


op_traits = remembered(OpTraits)
