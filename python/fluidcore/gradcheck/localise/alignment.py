"""Which operator of a backward program stands for which one of another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

from fluidcore import core
from fluidcore.gradcheck.localise.reference import OF
from fluidcore.gradcheck.program.places import inner_block

Key = Callable[[core.OpDesc], Hashable]


class Missing(NamedTuple):
    """An operator of the reference that the actual program does not have."""

    op: core.OpDesc
    block: int  # index of the actual block where it belongs


@dataclass
class Aligned:
    """Gradient operators of the actual program, by name, and of the reference.

    Attributes:
        twins: Name of an actual operator -> the reference's one.
        missing: What the actual program does not have, in order.
        blocks: Actual block -> block of the reference.
        written: Actual block -> what gradient operators of the reference write there.
    """

    twins: dict[str, core.OpDesc] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)
    blocks: dict[int, int] = field(default_factory=dict)
    written: dict[int, set[str]] = field(default_factory=dict)


def align(
    actual: core.ProgramDesc, reference: core.ProgramDesc, forward: frozenset[str]
) -> Aligned:
    """Aligns the gradient operators of two programs, in all blocks.

    Args:
        actual: Its operators have names of their own.
        reference: Its gradient operators have names that start with `OF`.
        forward: The names of the forward operators of both.
    """
    aligned = Aligned()
    waiting = [(0, 0)]
    while waiting:
        a, r = waiting.pop()
        if a in aligned.blocks:
            continue
        aligned.blocks[a] = r
        mine, other = actual.block(a).ops(), reference.block(r).ops()
        by_name = {op.call_site(): op for op in other}
        pairs = [
            (op, by_name[op.call_site()])
            for op in mine
            if op.call_site() in forward and op.call_site() in by_name
        ]
        made = [op for op in other if op.call_site().startswith(OF)]
        aligned.written[a] = {name for op in made for name in op.output_arg_names()}
        found, missing = _aligned_ops([op for op in mine if op.call_site() not in forward], made)
        aligned.twins.update((op.call_site(), twin) for op, twin in found)
        aligned.missing += [Missing(op, a) for op in missing]
        for op, twin in pairs + found:
            inner = inner_block(op), inner_block(twin)
            if inner[0] is not None and inner[1] is not None:
                waiting.append((inner[0], inner[1]))
    return aligned


def _aligned_ops(
    mine: Sequence[core.OpDesc], other: Sequence[core.OpDesc]
) -> tuple[list[tuple[core.OpDesc, core.OpDesc]], list[core.OpDesc]]:
    """First what has the same type and results, then the same results, then the same place."""
    pairs: list[tuple[core.OpDesc, core.OpDesc]] = []
    missing: list[core.OpDesc] = []
    for gap in _gaps(mine, other, lambda op: (op.type(), _results(op)), pairs):
        for rest in _gaps(*gap, _results, pairs):
            if len(rest[0]) == len(rest[1]):
                pairs += zip(*rest, strict=True)
            else:
                missing += rest[1]
    return pairs, missing


def _gaps(
    mine: Sequence[core.OpDesc],
    other: Sequence[core.OpDesc],
    key: Key,
    pairs: list[tuple[core.OpDesc, core.OpDesc]],
) -> Iterator[tuple[Sequence[core.OpDesc], Sequence[core.OpDesc]]]:
    """Adds what is the same to `pairs`; yields the rest between."""
    matcher = SequenceMatcher(None, [key(op) for op in mine], [key(op) for op in other], False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(mine[i:i_end], other[j:j_end], strict=True)
        else:
            yield mine[i:i_end], other[j:j_end]


def _results(op: core.OpDesc) -> Hashable:
    return tuple(sorted(set(op.output_arg_names()) - {core.EMPTY_VAR_NAME}))
