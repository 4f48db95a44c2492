"""Where boxes stand: forward downwards, backward beside it upwards, updates as a third column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from fluidcore.picture.boxes import INSIDE, Box, Line, Picture
from fluidcore.picture.layout import GAP, layered, separated
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


def _place_column(column: Column, wanted: dict[Box, float], highest: float, flip: bool) -> None:
    joined = {box for line in column.lines for box in (line.source, line.target)}
    boxes = [box for box in column.boxes if box in joined]
    numbers = {box: number for number, box in enumerate(boxes)}
    sign = -1.0 if flip else 1.0
    layout = layered(
        [(box.width, box.height) for box in boxes],
        [(numbers[line.source], numbers[line.target]) for line in column.lines],
        {numbers[box]: sign * at for box, at in wanted.items() if box in numbers},
    )
    for box, (x, y) in zip(boxes, layout.middles, strict=True):
        box.x = column.left + x - box.width / 2
        box.y = sign * y - box.height / 2
    for line, route in zip(column.lines, layout.routes, strict=True):
        line.points = [(column.left + x, sign * y) for x, y in route]
    column.width = layout.width
    alone = [box for box in column.boxes if box not in joined]
    if alone:
        gap = GAP if boxes else 0.0
        column.width = _pile(alone, wanted, column.left + layout.width + gap, highest) - column.left


def _pile(boxes: list[Box], wanted: dict[Box, float], left: float, highest: float) -> float:
    """Boxes below each other, in as many rows as it takes; returns where the last one ends."""
    order = sorted(boxes, key=lambda box: wanted.get(box, 0.0))
    piles: list[list[Box]] = [[]]
    height = 0.0
    for box in order:
        if height + box.height > highest and piles[-1]:
            piles.append([])
            height = 0.0
        piles[-1].append(box)
        height += box.height + GAP
    for pile in piles:
        gaps = [(a.height + b.height) / 2 + GAP for a, b in pairwise(pile)]
        wishes, at = [], 0.0
        for number, box in enumerate(pile):
            at = wanted.get(box, at + gaps[number - 1] if number else box.height / 2)
            wishes.append(at)
        widest = max(box.width for box in pile)
        for box, middle in zip(pile, separated(wishes, gaps), strict=True):
            box.x, box.y = left + (widest - box.width) / 2, middle - box.height / 2
        left += widest + GAP
    return left - GAP


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
