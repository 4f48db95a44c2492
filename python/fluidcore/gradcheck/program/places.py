"""Where the operators of a program are, through copies, pruning and inserted operators."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from typing import NamedTuple

from fluidcore import core
from fluidcore.program.op_slots import inner_blocks


class Place(NamedTuple):
    """An operator of the user's program.

    Attributes:
        block: Index of its block.
        op: Index in the block.
        op_type: Its type.
        call_site: Where the user wrote it, or its forward operator: "train.py:41".
    """

    block: int
    op: int
    op_type: str
    call_site: str


def every_op(desc: core.ProgramDesc) -> Iterator[tuple[core.BlockDesc, int, core.OpDesc]]:
    """All operators of all blocks, with block and index."""
    for index in range(desc.num_blocks()):
        block = desc.block(index)
        for position, op in enumerate(block.ops()):
            yield block, position, op


def mark_places(desc: core.ProgramDesc) -> dict[str, Place]:
    """Writes a name of its own into the call site of each operator; returns name -> place.

    Copies keep call sites, and gradient operators get that of their forward operator.
    """
    places: dict[str, Place] = {}
    for block, position, op in every_op(desc):
        name = f"{block.id()}:{position}"
        places[name] = Place(block.id(), position, op.type(), op.call_site())
        op.set_call_site(name)
    return places


def positions(desc: core.ProgramDesc) -> dict[str, tuple[int, int]]:
    """Name of an operator -> where it is in a copy: block and index."""
    found: dict[str, tuple[int, int]] = {}
    for block, position, op in every_op(desc):
        found.setdefault(op.call_site(), (block.id(), position))
    return found


def inner_block(op: core.OpDesc) -> int | None:
    """The block that an operator runs."""
    return next(inner_blocks(op), None)


def with_source_line(site: str) -> str:
    """A call site with the line that is there: train.py:41: h = layers.fc(x, 10)."""
    path, _, number = site.rpartition(":")
    line = linecache.getline(path, int(number)).strip() if number.isdigit() else ""
    return f"{site}: {line}" if line else site
