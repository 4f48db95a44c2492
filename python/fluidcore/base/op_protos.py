"""Declarations of operators as Fluid's tests of operators read them."""

from __future__ import annotations

from typing import NamedTuple

from fluidcore import core


class SlotProto(NamedTuple):
    """A slot of an operator.

    Attributes:
        name: "X".
        comment: What it is.
        duplicable: Whether it holds a list of variables.
        intermediate: Whether it holds what only the gradient reads.
        dispensable: Whether it may be left out.
    """

    name: str
    comment: str
    duplicable: bool
    intermediate: bool
    dispensable: bool


class AttrProto(NamedTuple):
    """An attribute of an operator.

    Attributes:
        name: "axis".
        comment: What it is.
    """

    name: str
    comment: str


class OpProto(NamedTuple):
    """An operator.

    Attributes:
        type: "concat".
        comment: What it does.
        inputs: Its input slots, in order.
        outputs: Its output slots, in order.
        attrs: Its attributes, in order.
    """

    type: str
    comment: str
    inputs: tuple[SlotProto, ...]
    outputs: tuple[SlotProto, ...]
    attrs: tuple[AttrProto, ...]


def _slot(slot: core.OpDef.Slot) -> SlotProto:
    return SlotProto(slot.name, slot.doc, slot.list, slot.intermediate, slot.optional)


class OpProtoHolder:
    """The declarations of all operators; `core.op_def` says more of each."""

    @classmethod
    def instance(cls) -> OpProtoHolder:
        """A holder; all of them say the same."""
        return cls()

    def get_op_proto(self, type: str) -> OpProto:
        """The declaration of an operator.

        Raises:
            core.NotFound: There is no such operator.
        """
        found = core.op_def(type)
        return OpProto(
            found.type,
            found.doc,
            tuple(map(_slot, found.inputs)),
            tuple(map(_slot, found.outputs)),
            tuple(AttrProto(attr.name, attr.doc) for attr in found.attrs),
        )


def get_all_op_protos() -> list[OpProto]:
    """The declarations of all operators, by name."""
    return [OpProtoHolder.instance().get_op_proto(type) for type in core.op_types()]
