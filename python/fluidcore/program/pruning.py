"""Programs with only what some variables need.

An operator stays if something it writes is needed: by the targets, or by an operator that stays.
The operators of a sub-block are judged in the same way. Of what a sub-block leaves behind, needed
is what is needed after the operator that runs it, what this operator itself reads (the condition of
a loop, the states of a recurrence) and what the block reads again in its next step. So a history
that only gradients would read is not kept without them. A block that is run once is taken for a
loop, which may keep a little more than it must.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from fluidcore import core
from fluidcore.program.op_slots import (
    inner_blocks,
    list_all_effects,
    own_inputs,
    own_outputs,
    replaced,
)

_MAX_ROUNDS = 64  # of a loop whose steps need ever more of each other


def prune(desc: core.ProgramDesc, targets: Collection[str], feeds: Collection[str]) -> list[int]:
    """Removes what the targets do not need; blocks that stay are numbered anew.

    Args:
        desc: The program to change.
        targets: Names of variables of the outermost block that must still be calculated.
        feeds: Names of variables that will be given: what calculates them is left out.

    Returns:
        The former indices of the blocks that are left.

    Raises:
        core.Error: The blocks of the program do not fit together.
    """
    needs = _Needs(desc, frozenset(feeds))
    needs.find(targets)
    kept = _kept_blocks(desc, needs.kept)
    for index in kept:
        _remove_ops(desc.block(index), needs.kept.get(index, set()))
    list_all_effects(desc, reversed(kept))
    used = _used_variables(desc, kept, {*targets, *feeds})
    for index in kept:
        block = desc.block(index)
        names = [var.name() for var in block.all_vars()]
        block.remove_vars([name for name in names if (index, name) not in used])
    desc.keep_blocks(kept)
    return kept


class _Op(NamedTuple):
    """What is known of an operator before anything is judged.

    Attributes:
        reads: What it reads, its blocks left aside.
        writes: What it writes, its blocks left aside.
        replaced: Those of `writes` of which nothing older is left.
        blocks: The blocks that it runs.
        named: What it reads after each run of a block, and maybe more.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    replaced: frozenset[str]
    blocks: tuple[int, ...]
    named: frozenset[str]


class _Needs:
    """Finds what is needed, from the last operator to the first.

    What is known to be needed of a block only grows, and a block is gone through again only after
    it has grown.

    Attributes:
        kept: Block -> positions of the operators that stay.
    """

    def __init__(self, desc: core.ProgramDesc, feeds: frozenset[str]) -> None:
        self._effects = core.EffectsOfBlocks(desc)
        self._effects.of(0)  # checks that blocks lie in each other
        self._desc = desc
        self._feeds = feeds
        self._scoped = frozenset(  # outlive their blocks
            var.name()
            for index in range(1, desc.num_blocks())
            for var in desc.block(index).all_vars()
            if var.persistable()
        )
        self._ops: dict[int, list[_Op]] = {}
        self._writes: dict[int, frozenset[str]] = {}
        self._at_end: dict[int, set[str]] = {}
        self._before: dict[int, frozenset[str]] = {}
        self.kept: dict[int, set[int]] = {}

    def find(self, targets: Iterable[str]) -> None:
        """Finds what the targets need."""
        self._go_through(0, set(targets) - self._feeds)

    def _go_through(self, index: int, needed: set[str]) -> set[str]:
        """From what is needed after the operators of a block, what is needed before them."""
        kept = self.kept.setdefault(index, set())
        feeds = self._feeds if index == 0 else frozenset()
        ops = self._ops_of(index)
        for position in range(len(ops) - 1, -1, -1):
            op = ops[position]
            wanted = position in kept or not needed.isdisjoint(op.writes)
            inside: set[str] = set()
            for block in op.blocks:
                known = self._at_end.setdefault(block, set())
                grown = len(known)
                known |= needed & self._writes[block]
                if wanted:
                    known |= op.named
                if block not in self._before or len(known) > grown:
                    self._go_through_steps(block)
                if self.kept[block] and not wanted:
                    wanted = True
                    known |= op.named
                    self._go_through_steps(block)
                inside |= self._before[block]
            if wanted:
                kept.add(position)
                needed -= op.replaced
                needed |= op.reads | inside
                needed -= feeds
        return needed

    def _go_through_steps(self, index: int) -> None:
        """Goes through a block again and again, as its steps may need what earlier ones write."""
        at_end = self._at_end[index]
        for step in range(_MAX_ROUNDS + 1):
            before = self._outside(index, self._go_through(index, set(at_end)))
            carried = self._writes[index] if step == _MAX_ROUNDS else before & self._writes[index]
            if carried <= at_end:
                break
            at_end |= carried
        else:
            before = self._outside(index, self._go_through(index, set(at_end)))
        self._before[index] = frozenset(before)

    def _outside(self, index: int, names: set[str]) -> set[str]:
        """The names that do not mean variables of the block, which live for one step.

        Of a variable of the forward block a gradient block uses the shape; whatever makes it known
        in the forward block, which comes earlier, is kept.
        """
        block = self._desc.block(index)
        forward = block.forward_block_idx()
        outside = set()
        for name in names:
            var = block.find_var(name)
            if var is not None and not var.persistable():
                continue
            if var is None and forward >= 0 and self._desc.block(forward).has_var(name):
                self._need_shape(forward, name)
                continue
            outside.add(name)
        return outside

    def _need_shape(self, index: int, name: str) -> None:
        at_end = self._at_end.setdefault(index, set())
        if name not in at_end:
            at_end.add(name)
            while index > 0:  # to be gone through again, even where nothing else is new
                self._before.pop(index, None)
                index = self._desc.block(index).parent()

    def _ops_of(self, index: int) -> list[_Op]:
        if index not in self._ops:
            self._ops[index] = [_known(op) for op in self._desc.block(index).ops()]
            for op in self._ops[index]:
                for block in op.blocks:
                    _, writes = self._effects.of(block)
                    self._writes[block] = self._scoped.union(writes)
        return self._ops[index]


def _known(op: core.OpDesc) -> _Op:
    blocks = tuple(inner_blocks(op))
    reads, writes = frozenset(own_inputs(op)), frozenset(own_outputs(op))
    named: frozenset[str] = frozenset()
    if blocks:
        named = reads.union(_names_in_attributes(op))
    return _Op(reads, writes, frozenset(replaced(op)), blocks, named)


def _names_in_attributes(op: core.OpDesc) -> Iterator[str]:
    """The variables of its block that an operator hands over or takes."""
    for value in op.attrs().values():
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, str))


def _kept_blocks(desc: core.ProgramDesc, kept: dict[int, set[int]]) -> list[int]:
    """The blocks that operators run which stay, and the forward blocks of these."""
    found, waiting = {0}, [0]
    while waiting:
        block = desc.block(waiting.pop())
        ops = block.ops()
        near = {
            inner for position in kept.get(block.id(), ()) for inner in inner_blocks(ops[position])
        }
        near.update(idx for idx in (block.forward_block_idx(), block.parent()) if idx >= 0)
        waiting += near - found
        found |= near
    return sorted(found)


def _remove_ops(block: core.BlockDesc, kept: Collection[int]) -> None:
    end = block.op_size()  # the operators [position + 1, end) go
    for position in sorted(kept, reverse=True):
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
            for name in (*op.input_arg_names(), *op.output_arg_names()):
                used.add((_home(desc, index, name), name))
            for inner in inner_blocks(op):
                for name in _names_in_attributes(op):
                    used.add((_home(desc, inner, name), name))
    return used


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
