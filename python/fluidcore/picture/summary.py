"""Tables of what a program holds: shapes, parameters, memory, arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fluidcore import core
from fluidcore.picture.flops import flops
from fluidcore.picture.graph import Graph, Op, find_var, read_graph, shape_text
from fluidcore.picture.shapes import at_batch, elements, size
from fluidcore.picture.table import amount, bytes_text, table_text


class Row(NamedTuple):
    """What one operator adds.

    Attributes:
        place: "3", or "2.3" for operator 3 of the block that operator 2 runs.
        type: Of the operator.
        role: The part of the program: "forward", "backward", "optimizer".
        output: The first variable that it writes; "" if there is none.
        shape: Of that, with all extents known.
        parameters: How many numbers it learns, or takes from those that are learnt; a parameter
            counts at the first operator that reads it.
        parameter_bytes: What they take.
        activation_bytes: What its outputs take that do not live between runs, each variable once.
        flops: Floating-point operations of one run, as the profiler counts them; 0 where they are
            not known. In a loop: of all steps where their number is known from shapes, else of one.
        line: Where the user added it: "train.py:41", or "".
    """

    place: str
    type: str
    role: str
    output: str
    shape: tuple[int, ...]
    parameters: int
    parameter_bytes: int
    activation_bytes: int
    flops: int
    line: str


class Summary(NamedTuple):
    """The operators of a program and what they take; printed, it is a table with totals.

    Attributes:
        batch: What stands for extents that the program leaves open.
        rows: One for each operator; those of a block follow the operator that runs it.
        parameters: How many numbers the parameters have.
        trainable: How many of them are learnt.
        parameter_bytes: What the parameters take.
        state_bytes: What else lives between runs: the optimizer's state, for example.
        activation_bytes: What all results take if each is kept; a run keeps fewer at a time.
        flops: Of one run.
    """

    batch: int
    rows: list[Row]
    parameters: int
    trainable: int
    parameter_bytes: int
    state_bytes: int
    activation_bytes: int
    flops: int

    def __str__(self) -> str:
        return "\n".join([_table(self.rows), "", *_totals(self)])


def summary(program: core.ProgramDesc, batch: int) -> Summary:
    """The summary of a program.

    Args:
        program: Is not changed.
        batch: Stands for extents that the program leaves open.
    """
    known = at_batch(program, batch)
    rows = list(_rows(known, read_graph(known), "", 1, set()))
    variables = known.block(0).all_vars()
    parameters = [v for v in variables if v.is_parameter()]
    state = [v for v in variables if v.persistable() and not v.is_parameter()]
    return Summary(
        batch=batch,
        rows=rows,
        parameters=sum(map(elements, parameters)),
        trainable=sum(elements(v) for v in parameters if v.trainable()),
        parameter_bytes=sum(map(size, parameters)),
        state_bytes=sum(map(size, state)),
        activation_bytes=sum(row.activation_bytes for row in rows),
        flops=sum(row.flops for row in rows),
    )


def _rows(
    program: core.ProgramDesc, graph: Graph, around: str, steps: int, counted: set[tuple[int, str]]
) -> Iterator[Row]:
    """Rows of a block; `counted` are the variables of rows so far, by block and name."""
    block = program.block(graph.block)
    descs = block.ops()
    for op in graph.ops:
        found = {
            name: desc
            for name in (*op.reads, *op.writes)
            if (desc := find_var(program, graph.block, name)) is not None
        }
        fresh = {}
        for name, desc in found.items():
            home = (0 if desc.persistable() else graph.block, name)
            if home not in counted and (desc.is_parameter() or name in op.writes):
                counted.add(home)
                fresh[name] = desc
        learnt = [desc for desc in fresh.values() if desc.is_parameter()]
        made = [fresh[name] for name in op.writes if name in fresh]
        first = _main_output(op, found)
        yield Row(
            place=f"{around}{op.number}",
            type=op.type,
            role=op.role.value,
            output="" if first is None else first.name(),
            shape=() if first is None else tuple(first.shape()),
            parameters=sum(map(elements, learnt)),
            parameter_bytes=sum(map(size, learnt)),
            activation_bytes=sum(size(desc) for desc in made if not desc.persistable()),
            flops=steps * flops(descs[op.number], _shapes(op, found)),
            line=op.site,
        )
        times = steps * _steps(op, found)
        for inner in op.blocks:
            yield from _rows(program, inner, f"{around}{op.number}.", times, counted)


def _main_output(op: Op, found: dict[str, core.VarDesc]) -> core.VarDesc | None:
    """The first declared output that does not live between runs, or else the first one."""
    known = op.type in core.op_types()
    slots = [slot.name for slot in core.op_def(op.type).outputs] if known else list(op.outputs)
    written = [found[n] for slot in slots for n in op.outputs.get(slot, ()) if n in found]
    return next((desc for desc in written if not desc.persistable()), next(iter(written), None))


def _shapes(op: Op, found: dict[str, core.VarDesc]) -> dict[str, list[int]]:
    """The shape of the first variable of each slot."""
    slots = {**op.inputs, **op.outputs}
    return {slot: found[n[0]].shape() for slot, n in slots.items() if n and n[0] in found}


def _steps(op: Op, found: dict[str, core.VarDesc]) -> int:
    """How often an operator runs its block; 1 where only the data say."""
    if op.type not in ("recurrent", "recurrent_grad"):
        return 1
    sequence = next((found[name] for name in op.inputs.get("inputs", ()) if name in found), None)
    return sequence.shape()[0] if sequence is not None and sequence.shape() else 1


def _table(rows: list[Row]) -> str:
    heads = ("", "operator", "output", "shape", "parameters", "bytes", "activations", "FLOPs")
    cells: list[tuple[str, ...]] = [heads]
    before = ""
    several = len({row.role for row in rows}) > 1
    for row in rows:
        if several and row.role != before:
            cells.append(("", f"({row.role})", *[""] * 6))
            before = row.role
        cells.append(
            (
                row.place,
                row.type,
                row.output,
                shape_text(list(row.shape)) if row.output else "",
                f"{row.parameters:,}" if row.parameters else "",
                bytes_text(row.parameter_bytes) if row.parameters else "",
                bytes_text(row.activation_bytes) if row.activation_bytes else "",
                amount(row.flops).strip() if row.flops else "",
            )
        )
    return table_text(cells, numbers=4)


def _totals(given: Summary) -> list[str]:
    fixed = given.parameters - given.trainable
    return [
        f"parameters   {given.parameters:,} numbers, {bytes_text(given.parameter_bytes)}"
        + (f"; {fixed:,} of them are not learnt" if fixed else ""),
        f"other state  {bytes_text(given.state_bytes)}",
        f"activations  {bytes_text(given.activation_bytes)} if all are kept, "
        f"at a batch of {given.batch}",
        f"arithmetic   {amount(given.flops)}FLOP in a run of {len(given.rows):,} operators",
    ]
