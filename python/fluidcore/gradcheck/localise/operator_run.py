"""One operator, run with given values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck.program.cast_program import cast_attributes
from fluidcore.gradcheck.target.target import Array
from fluidcore.program.op_slots import inner_blocks

Slot = tuple[str, int]


def places_of(slots: Mapping[str, list[str]]) -> Iterator[tuple[Slot, str]]:
    """Each place in a slot, and the variable there."""
    for slot, names in slots.items():
        for i, name in enumerate(names):
            if name != core.EMPTY_VAR_NAME:
                yield (slot, i), name


class OneOp:
    """A program of one operator, with a variable of its own in each place of a slot.

    Args:
        op: Runs no block.
        values: Value of each variable that it reads.

    Raises:
        core.Error: The operator does not fit the values.
    """

    def __init__(self, op: core.OpDesc, values: Mapping[str, Array]) -> None:
        self.program = core.ProgramDesc()
        block = self.program.block(0)
        self.feeds: dict[str, Array] = {}
        self.inputs = {place: _name("I", place) for place, _ in places_of(op.inputs())}
        self.outputs = {place: _name("O", place) for place, _ in places_of(op.outputs())}
        for place, name in places_of(op.inputs()):
            value = values[name]
            self.feeds[self.inputs[place]] = value
            var = block.var(self.inputs[place])
            var.set_dtype(value.dtype.name)
            var.set_shape(list(value.shape))
        block.add_op(
            op.type(),
            _renamed(op.inputs(), self.inputs),
            _renamed(op.outputs(), self.outputs),
            op.attrs(),
        )

    def run(self) -> dict[Slot, Array]:
        """The results."""
        names = list(self.outputs.values())
        executor = core.Executor(core.CPUPlace())
        found = executor.run(self.program, self.feeds, names, core.Scope())
        return {p: np.asarray(t) for p, t in zip(self.outputs, found, strict=True)}

    def function(self, inputs: list[Slot], outputs: list[Slot]) -> core.Function:
        """Some outputs as a function of some inputs."""
        return core.ProgramFunction(
            self.program,
            self.feeds,
            [self.inputs[place] for place in inputs],
            [self.outputs[place] for place in outputs],
        )


def run_one(op: core.OpDesc, values: Mapping[str, Array]) -> dict[str, Array]:
    """Variable -> what an operator writes to it."""
    if any(True for _ in inner_blocks(op)):
        raise core.InvalidArgument(f"{op.type()}: the operator must run no block")
    found = OneOp(op, values).run()
    return {name: found[place] for place, name in places_of(op.outputs())}


def in_dtype(op: core.OpDesc, before: str, dtype: str) -> core.OpDesc:
    """A copy of an operator that calculates in another dtype."""
    copy = core.OpDesc()
    copy.copy_from(op)
    for name, value in cast_attributes(op, before, dtype).items():
        copy.set_attr(name, value)
    return copy


def as_double(value: Array) -> Array:
    """Floating values in float64; others as they are."""
    return value.astype(np.float64) if value.dtype.name in FLOATING else value


def _name(kind: str, place: Slot) -> str:
    slot, index = place
    return f"{kind}.{slot}.{index}".replace("@", "_")


def _renamed(slots: Mapping[str, list[str]], names: Mapping[Slot, str]) -> dict[str, list[str]]:
    return {
        slot: [
            name if name == core.EMPTY_VAR_NAME else names[slot, i] for i, name in enumerate(args)
        ]
        for slot, args in slots.items()
    }
