"""What the slots of an operator hold: its own variables, or a list of what its block uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fluidcore import core
from fluidcore.base.definitions import remembered


class ListedSlots(NamedTuple):
    """The slots that list what the block of an operator reads and writes."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@remembered
def listed_slots(op_type: str) -> ListedSlots | None:
    """The slots that list the effects of a block; None for an operator that runs none."""
    definition = core.op_def(op_type)
    if not definition.runs_block:
        return None
    return ListedSlots(
        tuple(slot.name for slot in definition.inputs if slot.of_block),
        tuple(slot.name for slot in definition.outputs if slot.of_block),
    )


def own_inputs(op: core.OpDesc) -> Iterator[str]:
    """What an operator itself reads."""
    slots = listed_slots(op.type())
    return _names(op.inputs(), () if slots is None else slots.inputs)


def own_outputs(op: core.OpDesc) -> Iterator[str]:
    """What an operator itself writes."""
    slots = listed_slots(op.type())
    return _names(op.outputs(), () if slots is None else slots.outputs)


def list_effects(effects: core.EffectsOfBlocks, op: core.OpDesc) -> None:
    """Lists in the slots of an operator what the block that it runs reads and writes now."""
    slots = listed_slots(op.type())
    inner = next(inner_blocks(op), None)
    if inner is None or slots is None:
        return
    reads, writes = effects.of(inner)
    own = set(own_inputs(op))
    for slot in slots.inputs:
        op.set_input(slot, [name for name in reads if name not in own])
    for slot in slots.outputs:
        op.set_output(slot, writes)


def list_all_effects(desc: core.ProgramDesc, blocks: Iterable[int]) -> None:
    """Lists the effects in all operators of some blocks; inner blocks come before outer ones."""
    effects = core.EffectsOfBlocks(desc)
    for index in blocks:
        for op in desc.block(index).ops():
            list_effects(effects, op)


def inner_blocks(op: core.OpDesc) -> Iterator[int]:
    """The indices of the blocks that an operator runs."""
    for value in op.attrs().values():
        if isinstance(value, core.BlockIndex):
            yield value.value


def _names(slots: dict[str, list[str]], without: tuple[str, ...]) -> Iterator[str]:
    for slot, names in slots.items():
        if slot not in without:
            yield from (name for name in names if name != core.EMPTY_VAR_NAME)
