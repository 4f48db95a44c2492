"""Programs with only what some variables need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from fluidcore import core
from fluidcore.program.op_slots import inner_blocks, list_all_effects, own_inputs, own_outputs


def prune(desc: core.ProgramDesc, targets: Collection[str], feeds: Collection[str]) -> list[int]:
    """Removes what the targets do not need; blocks that stay are numbered anew.

    Args:
        desc: The program to change.
        targets: Names of variables of the outermost block that must still be calculated.
        feeds: Names of variables that will be given: what calculates them is left out.

    Returns:
        The former indices of the blocks that are left.

    Raises:
        core.Error: The program cannot be run: its blocks do not fit together, for example.
    """
    needed = core.needed_ops(desc, list(targets), list(feeds))
    kept = _kept_blocks(desc, needed)
    for index in kept:
        _remove_ops(desc.block(index), needed.get(index, ()))
    list_all_effects(desc, reversed(kept))
    used = _used_variables(desc, kept, {*targets, *feeds})
    for index in kept:
        block = desc.block(index)
        names = [var.name() for var in block.all_vars()]
        block.remove_vars([name for name in names if (index, name) not in used])
    desc.keep_blocks(kept)
    return kept


def _kept_blocks(desc: core.ProgramDesc, needed: Mapping[int, Collection[int]]) -> list[int]:
    """The blocks that operators run which stay, and the forward blocks of these."""
    found, waiting = {0}, [0]
    while waiting:
        block = desc.block(waiting.pop())
        ops = block.ops()
        near = {
            inner
            for position in needed.get(block.id(), ())
            for inner in inner_blocks(ops[position])
        }
        near.update(idx for idx in (block.forward_block_idx(), block.parent()) if idx >= 0)
        waiting += near - found
        found |= near
    return sorted(found)


def _remove_ops(block: core.BlockDesc, needed: Collection[int]) -> None:
    end = block.op_size()  # the operators [position + 1, end) go
    for position in sorted(needed, reverse=True):
        block.remove_op(position + 1, end)
        end = position
    block.remove_op(0, end)


def _used_variables(
    desc: core.ProgramDesc, blocks: Iterable[int], outermost: Iterable[str]
) -> set[tuple[int, str]]:
    """The variables, as (block, name), that the operators of these blocks name."""
    used = {(0, name) for name in outermost}
    for index in blocks:
        for op in desc.block(index).ops():
            for name in (*own_inputs(op), *own_outputs(op)):  # others are those of inner blocks
                used.add((_home(desc, index, name), name))
            for inner in inner_blocks(op):
                for name in _names_in_attributes(op):
                    used.add((_home(desc, inner, name), name))
    return used


def _names_in_attributes(op: core.OpDesc) -> Iterator[str]:
    """The variables of its block that an operator hands over or takes."""
    for value in op.attrs().values():
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, str))


def _home(desc: core.ProgramDesc, index: int, name: str) -> int:
    """The block of the variable that a name means in a block; -1 if there is none."""
    while index >= 0:
        block = desc.block(index)
        if block.has_var(name):
            return index
        forward = block.forward_block_idx()
        if forward >= 0 and desc.block(forward).has_var(name):
            return forward
        index = block.parent()
    return -1
