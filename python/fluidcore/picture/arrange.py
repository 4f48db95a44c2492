"""What is drawn of a block: which boxes, and which lines between them."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore.picture.boxes import (
    Box,
    Line,
    Picture,
    group_box,
    input_box,
    inputs_box,
    op_box,
)
from fluidcore.picture.folding import Group, Item, folded, operators_of
from fluidcore.picture.graph import Graph, Op, Value
from fluidcore.picture.placing import Column, place
from fluidcore.picture.roles import Role

MOST_INPUTS = 6  # boxes of what one operator reads from outside; more values are one box


def arranged(
    graph: Graph, items: Sequence[Item] | None = None, limit: int | None = None
) -> Picture:
    """A picture of a block, or of some items of it.

    Args:
        graph: The block.
        items: What is drawn; None for all operators.
        limit: How many boxes each part may have, before some are drawn as one; None: any number.
    """
    given: Sequence[Item] = graph.ops if items is None else items
    picture = Picture()
    columns = []
    owner: dict[int, Box] = {}
    for role in Role:
        part = folded([item for item in given if item.role is role], limit)
        if part:
            columns.append(Column(role))
        for item in part:
            box = _box(item, graph, limit)
            columns[-1].boxes.append(box)
            owner.update((op.number, box) for op in operators_of(item))
    _join(graph, columns, owner, picture)
    place(columns, picture)
    return picture


def _box(item: Item, graph: Graph, limit: int | None) -> Box:
    if isinstance(item, Group):
        return group_box(item)
    return op_box(item, graph, [arranged(inner, None, limit) for inner in _not_empty(item)])


def _not_empty(op: Op) -> list[Graph]:
    return [inner for inner in op.blocks if inner.ops]


def _join(graph: Graph, columns: Sequence[Column], owner: dict[int, Box], picture: Picture) -> None:
    """Makes the lines, and the boxes of what comes from outside."""
    column_of = {box: column for column in columns for box in column.boxes}
    found: dict[tuple[Box, Box], Line] = {}
    outside: dict[Box, list[str]] = {}
    for source, target, name in (flow for number in owner for flow in graph.into[number]):
        reader = owner[target]
        writer = None if source is None else owner.get(source)
        if writer is not None:
            _add(found, writer, reader, graph.values[name])
        elif not graph.values[name].persistable:  # else the box of the operator says so
            outside.setdefault(reader, []).append(name)
    inputs: dict[str, Box] = {}
    for reader, given in outside.items():
        names = list(dict.fromkeys(given))
        many = inputs_box(reader, names) if len(names) > MOST_INPUTS else None
        for name in names:
            value = graph.values[name]
            box = many or inputs.get(name) or input_box(name, reader.role, value)
            inputs[box.id if many else name] = box
            column_of.setdefault(box, column_of[reader])
            _add(found, box, reader, value)
    for box in reversed(inputs.values()):
        column_of[box].boxes.insert(0, box)
    for line in found.values():
        line.across = column_of[line.source] is not column_of[line.target]
        if not line.across:
            column_of[line.source].lines.append(line)
    picture.boxes = [box for column in columns for box in column.boxes]
    picture.lines = list(found.values())


def _add(found: dict[tuple[Box, Box], Line], source: Box, target: Box, value: Value) -> None:
    if source is not target:
        line = found.setdefault((source, target), Line(source, target, []))
        if value not in line.values:
            line.values.append(value)
