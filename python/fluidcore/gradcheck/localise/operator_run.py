"""One operator, run with given values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck.program.cast_program import cast_attributes
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.target.target import Array
from fluidcore.program.op_slots import inner_blocks

Slot = tuple[str, int]


def places_of(slots: Mapping[str, list[str]]) -> Iterator[tuple[Slot, str]]:
    """Each place in a slot, and the variable there."""
    for slot, names in slots.items():
        for i, name in enumerate(names):
            if name != core.EMPTY_VAR_NAME:
                yield (slot, i), name


class OneOp(NamedTuple):
    """A network of one operator, with a variable of its own in each place of a slot."""

    network: Network
    inputs: dict[Slot, str]
    outputs: dict[Slot, str]

    @classmethod
    def of(cls, op: core.OpDesc, values: Mapping[str, Array]) -> OneOp:
        """At the value of each variable that it reads; core.Error if these do not fit."""
        inputs = {place: _name("I", place) for place, _ in places_of(op.inputs())}
        outputs = {place: _name("O", place) for place, _ in places_of(op.outputs())}
        read, written = _renamed(op.inputs(), inputs), _renamed(op.outputs(), outputs)
        own = core.OpDesc(op.type(), read, written, op.attrs())
        given = {inputs[place]: values[name] for place, name in places_of(op.inputs())}
        return cls(Network(own, given, list(outputs.values())), inputs, outputs)

    def run(self) -> dict[Slot, Array]:
        """The results."""
        found = self.network.run(list(self.outputs.values()))
        return dict(zip(self.outputs, found, strict=True))


def run_one(op: core.OpDesc, values: Mapping[str, Array]) -> dict[str, Array]:
    """Variable -> what an operator writes to it."""
    if any(True for _ in inner_blocks(op)):
        raise core.InvalidArgument(f"{op.type()}: the operator must run no block")
    found = OneOp.of(op, values).run()
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
