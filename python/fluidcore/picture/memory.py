"""What the values of a program take in memory while it runs, operator by operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fluidcore import core
from fluidcore.base.definitions import remembered
from fluidcore.picture.graph import Graph, Op, read_graph, shape_text
from fluidcore.picture.shapes import at_batch, size
from fluidcore.picture.table import bytes_text, table_text

_ROWS = 30  # of a picture; an operator has one of its own where there are no more
_WIDTH = 40  # columns of the longest bar
_LARGEST = 10  # values that are listed


class Held(NamedTuple):
    """A value that is kept.

    Attributes:
        name: Of the variable.
        shape: With all extents known.
        dtype: "float32".
        bytes: What it takes.
        first: The operator of the outermost block that writes it first.
        last: The last one that reads its elements, or writes it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    first: int
    last: int


class Moment(NamedTuple):
    """One operator of the outermost block.

    Attributes:
        number: Its position.
        type: "mul".
        role: The part of the program: "forward", "backward", "optimizer".
        bytes: What is kept while it runs: its results, what it reads, what later operators read,
            and the most that the blocks it runs keep in one step.
        line: Where the user added it: "train.py:41", or "".
    """

    number: int
    type: str
    role: str
    bytes: int
    line: str


class Memory(NamedTuple):
    """What a program keeps as it runs; printed, it is a picture with the largest values.

    Attributes:
        batch: What stands for extents that the program leaves open.
        moments: One for each operator of the outermost block.
        values: All values of that block that do not live between runs and are not fed.
        parameter_bytes: What the parameters take, all the time.
        state_bytes: What else lives between runs.
    """

    batch: int
    moments: list[Moment]
    values: list[Held]
    parameter_bytes: int
    state_bytes: int

    @property
    def peak(self) -> Moment | None:
        """The first of the operators while which most is kept; None of a program without any."""
        return max(self.moments, key=lambda moment: moment.bytes, default=None)

    def at(self, number: int) -> list[Held]:
        """The values that are kept while an operator runs, the largest first."""
        kept = [held for held in self.values if held.first <= number <= held.last]
        return sorted(kept, key=lambda held: -held.bytes)

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def memory(program: core.ProgramDesc, batch: int) -> Memory:
    """What a program keeps as it runs.

    Args:
        program: Is not changed.
        batch: Stands for extents that the program leaves open.
    """
    known = at_batch(program, batch)
    graph = read_graph(known)
    values = list(_values(known, graph))
    moments = [
        Moment(op.number, op.type, op.role.value, count, op.site)
        for op, count in zip(graph.ops, _kept(known, graph, values), strict=True)
    ]
    lasting = [v for v in known.block(0).all_vars() if v.persistable()]
    return Memory(
        batch=batch,
        moments=moments,
        values=values,
        parameter_bytes=sum(size(v) for v in lasting if v.is_parameter()),
        state_bytes=sum(size(v) for v in lasting if not v.is_parameter()),
    )


def _values(program: core.ProgramDesc, graph: Graph) -> Iterator[Held]:
    """The values of a block, in the order in which they are written."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for op in graph.ops:
        for name in op.writes:
            first.setdefault(name, op.number)
        last.update(dict.fromkeys((*_read(op), *op.writes), op.number))
    block = program.block(graph.block)
    for name, number in first.items():
        desc = block.find_var(name)
        if desc is not None and not desc.persistable():
            shape = tuple(desc.shape())
            yield Held(name, shape, desc.dtype(), size(desc), number, last[name])


def _read(op: Op) -> Iterator[str]:
    """The variables whose elements an operator reads, not only their shapes."""
    unread = _shape_only(op.type)
    for slot, names in op.inputs.items():
        if slot not in unread:
            yield from names


@remembered
def _shape_only(op_type: str) -> frozenset[str]:
    if op_type not in core.op_types():
        return frozenset()
    return frozenset(slot.name for slot in core.op_def(op_type).inputs if slot.shape_only)


def _kept(program: core.ProgramDesc, graph: Graph, values: list[Held]) -> list[int]:
    """What is kept while each operator of a block runs."""
    changes = [0] * (len(graph.ops) + 1)
    for held in values:
        changes[held.first] += held.bytes
        changes[held.last + 1] -= held.bytes
    kept, now = [], 0
    for op, change in zip(graph.ops, changes, strict=False):
        now += change
        inside = (_kept(program, block, list(_values(program, block))) for block in op.blocks)
        kept.append(now + max((max(block, default=0) for block in inside), default=0))
    return kept


def _lines(given: Memory) -> Iterator[str]:
    peak = given.peak
    if peak is not None:
        yield _bars(given.moments, peak)
        yield ""
        where = f" ({peak.line})" if peak.line else ""
        yield (
            f"most: {bytes_text(peak.bytes)} at operator {peak.number}, {peak.type}{where}, at a "
            f"batch of {given.batch}"
        )
        yield from _largest(given.at(peak.number))
    yield f"parameters   {bytes_text(given.parameter_bytes)}, all the time"
    yield f"other state  {bytes_text(given.state_bytes)}, all the time"


def _bars(moments: list[Moment], peak: Moment) -> str:
    """A row for each operator; of many, for several that follow each other, the one with most."""
    step = -(-len(moments) // _ROWS)
    rows = []
    for start in range(0, len(moments), step):
        part = moments[start : start + step]
        most = max(part, key=lambda moment: moment.bytes)
        last = part[-1].number
        place = f"{part[0].number}" if len(part) == 1 else f"{part[0].number} to {last}"
        columns = round(_WIDTH * most.bytes / peak.bytes) if peak.bytes else 0
        rows.append((place, most.type, most.role, bytes_text(most.bytes), "█" * columns))
    bars = [row[-1] for row in rows]
    text = table_text([row[:-1] for row in rows], numbers=1).splitlines()
    return "\n".join(f"{line}  {bar}".rstrip() for line, bar in zip(text, bars, strict=True))


def _largest(values: list[Held]) -> Iterator[str]:
    shown = [held for held in values if held.bytes][:_LARGEST]
    if shown:
        rows = [
            (
                "",
                held.name,
                f"{held.dtype} {shape_text(list(held.shape))}",
                f"from {held.first} to {held.last}",
                bytes_text(held.bytes),
            )
            for held in shown
        ]
        yield table_text(rows, numbers=1)
    if len(values) > len(shown):
        rest = bytes_text(sum(held.bytes for held in values[len(shown) :]))
        yield f"  and {len(values) - len(shown)} more, {rest}"
