"""Where boxes stand: forward downwards, backward beside it upwards, updates as a third column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fluidcore.picture.boxes import INSIDE, Box, Line, Picture
from fluidcore.picture.layout import GAP, Layout, layered, separated
from fluidcore.picture.roles import Role

COLUMN_GAP = 90.0
HEAD = 34.0  # height of the titles of columns
_PILE = 1200.0  # a pile of boxes that nothing joins is no higher than this or the other columns


@dataclass(eq=False)
class Column:
    """A part of a program: boxes in an order in which lines lead from earlier ones to later."""

    role: Role
    boxes: list[Box] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)  # within the column
    left: float = 0.0
    width: float = 0.0


def place(columns: Sequence[Column], picture: Picture) -> None:
    """Gives boxes and lines their places; the picture begins at (0, 0)."""
    left, placed = 0.0, set[Box]()
    for column in columns:
        column.left = left
        wanted = _wanted(column, placed, picture.lines)
        height = max((box.y + box.height for box in placed), default=0.0)
        _place_column(column, wanted, max(height, _PILE), column.role is Role.BACKWARD and left > 0)
        placed.update(column.boxes)
        left += column.width + COLUMN_GAP
    top = min((box.y for box in picture.boxes), default=0.0)
    if len(columns) > 1:
        picture.heads = [(column.left, column.role.value) for column in columns]
        top -= HEAD
    for box in picture.boxes:
        box.y -= top
    for line in picture.lines:
        line.points = [(x, y - top) for x, y in line.points]
        if line.across:
            line.points = _sideways(line.source, line.target)
    picture.width = max(left - COLUMN_GAP, 0.0)
    picture.height = max((box.y + box.height for box in picture.boxes), default=0.0)
    _nest(picture)


def _wanted(column: Column, placed: set[Box], lines: Sequence[Line]) -> dict[Box, float]:
    """How far down a box would like to be: beside what it reads from earlier columns."""
    own = set(column.boxes)
    ends: dict[Box, list[float]] = {}
    for line in lines:
        if line.target in own and line.source in placed:
            ends.setdefault(line.target, []).append(line.source.y + line.source.height / 2)
    return {box: sum(found) / len(found) for box, found in ends.items()}


@dataclass(eq=False)
class _Part:
    """Boxes of a column that lines join, and where they stand in it."""

    boxes: list[Box]
    lines: list[Line]
    layout: Layout

    @property
    def width(self) -> float:
        return self.layout.width

    @property
    def height(self) -> float:
        return self.layout.height

    def put(self, left: float, top: float, flip: bool) -> None:
        """Places it; flipped, its first layer is the lowest one."""

        def down(y: float) -> float:
            return top + (self.height - y if flip else y)

        for box, (x, y) in zip(self.boxes, self.layout.middles, strict=True):
            box.x, box.y = left + x - box.width / 2, down(y) - box.height / 2
        for line, route in zip(self.lines, self.layout.routes, strict=True):
            line.points = [(left + x, down(y)) for x, y in route]


def _place_column(column: Column, wanted: dict[Box, float], highest: float, flip: bool) -> None:
    """The part that has most of the boxes stands on the left, the others are piled beside it."""
    groups = sorted(_joined(column), key=lambda group: -len(group[0]))
    if groups and 2 * len(groups[0][0]) > len(column.boxes):
        boxes, lines = groups.pop(0)
        sign = -1.0 if flip else 1.0
        wishes = {number: sign * wanted[b] for number, b in enumerate(boxes) if b in wanted}
        layout = _laid_out(boxes, lines, wishes)
        main = _Part(boxes, lines, layout)
        main.put(column.left, -main.height if flip else 0.0, flip)
        column.width = main.width
    if groups:
        parts = [_Part(boxes, lines, _laid_out(boxes, lines, {})) for boxes, lines in groups]
        left = column.left + (column.width + GAP if column.width else 0.0)
        column.width = _pile(parts, wanted, left, highest, flip) - column.left


def _laid_out(boxes: list[Box], lines: list[Line], wishes: dict[int, float]) -> Layout:
    numbers = {box: number for number, box in enumerate(boxes)}
    edges = [(numbers[line.source], numbers[line.target]) for line in lines]
    return layered([(box.width, box.height) for box in boxes], edges, wishes)


def _joined(column: Column) -> list[tuple[list[Box], list[Line]]]:
    """The boxes of a column and their lines, in groups that no line joins with others."""
    head = {box: box for box in column.boxes}

    def first(box: Box) -> Box:
        while head[box] is not box:
            head[box] = box = head[head[box]]
        return box

    for line in column.lines:
        head[first(line.target)] = first(line.source)
    groups: dict[Box, tuple[list[Box], list[Line]]] = {}
    for box in column.boxes:
        groups.setdefault(first(box), ([], []))[0].append(box)
    for line in column.lines:
        groups[first(line.source)][1].append(line)
    return list(groups.values())


def _pile(
    parts: list[_Part], wanted: dict[Box, float], left: float, highest: float, flip: bool
) -> float:
    """Parts below each other, in as many rows as it takes; returns where the last one ends."""
    middles = {part: _mean([wanted[b] for b in part.boxes if b in wanted]) for part in parts}
    order = sorted(parts, key=lambda part: middles[part])
    piles: list[list[_Part]] = [[]]
    height = 0.0
    for part in order:
        if height + part.height > highest and piles[-1]:
            piles.append([])
            height = 0.0
        piles[-1].append(part)
        height += part.height + GAP
    for pile in piles:
        gaps = [(a.height + b.height) / 2 + GAP for a, b in pairwise(pile)]
        wishes: list[float] = []
        for number, part in enumerate(pile):
            after = wishes[-1] + gaps[number - 1] if wishes else part.height / 2
            wishes.append(after if math.isinf(middles[part]) else middles[part])
        widest = max(part.width for part in pile)
        for part, middle in zip(pile, separated(wishes, gaps), strict=True):
            part.put(left + (widest - part.width) / 2, middle - part.height / 2, flip)
        left += widest + GAP
    return left - GAP


def _mean(values: list[float]) -> float:
    """The mean; infinite where there are no values, so that it sorts last."""
    return sum(values) / len(values) if values else math.inf


def _sideways(source: Box, target: Box) -> list[tuple[float, float]]:
    """From one column to another: from the side of a box to the facing side of the other one."""
    right = target.x > source.x
    start = source.x + source.width if right else source.x
    end = target.x if right else target.x + target.width
    return [(start, source.y + source.height / 2), (end, target.y + target.height / 2)]


def _nest(picture: Picture) -> None:
    """Inner pictures stand in their box, beside each other, below its text."""
    for box in picture.boxes:
        left = INSIDE
        for inner in box.inner:
            inner.x, inner.y = left, box.head
            left += inner.width + INSIDE
