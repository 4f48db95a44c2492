"""Where in a tensor the errors are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fluidcore.gradcheck.report.data import ElementError, ResultData
from fluidcore.gradcheck.report.phrases import SEVERITY
from fluidcore.gradcheck.report.plots import figure
from fluidcore.gradcheck.report.svg import picture
from fluidcore.gradcheck.report.values import difference, lists_directions, short
from fluidcore.gradcheck.verdict import Verdict

_WIDEST, _HIGHEST = 40, 24  # cells
_SHADES = 6
_FOLD = 64  # a longer vector is drawn in several rows
_STYLES = {Verdict.FAIL: "f", Verdict.INCONCLUSIVE: "q", Verdict.PASS: "p"}


class _Cell(NamedTuple):
    verdict: Verdict
    error: float


def heat_map(result: ResultData, errors: Sequence[ElementError]) -> str:
    """A picture of some elements, whose columns are the last axis; empty for directions."""
    size = math.prod(result.shape)
    inside = [error for error in errors if 0 <= error.index < size]
    if lists_directions(result) or not inside or size == 1:
        return ""
    columns = result.shape[-1]
    if columns == size and size > _FOLD:
        columns = math.ceil(math.sqrt(size))
    rows = math.ceil(size / columns)
    tall, wide = math.ceil(rows / _HIGHEST), math.ceil(columns / _WIDEST)
    cells: dict[tuple[int, int], _Cell] = {}
    for error in inside:
        row, column = divmod(error.index, columns)
        key = (row // tall, column // wide)
        cell = _Cell(error.verdict, difference(error))
        cells[key] = min(cells.get(key, cell), cell, key=_badness)
    box = (math.ceil(columns / wide), math.ceil(rows / tall))
    low, high = _extremes(cell.error for cell in cells.values())
    body = f'<path class="frame" d="M0 0H{box[0]}V{box[1]}H0z"/>' + _paths(cells, low, high)
    unit = "one element" if tall * wide == 1 else f"the worst of {tall} by {wide} elements"
    caption = f"Each cell is {unit}; columns are the last axis. Strongest: {short(high)}"
    if low < high:
        caption += f", weakest: {short(low)}"
    caption += "." if len(inside) == size else ". Blank: right, or not drawn."
    title = "map of the differences |A &minus; G|"
    drawn = picture(title, *box, body).replace("<svg ", '<svg class="map" ', 1)
    return figure("Where the differences are", drawn, caption)


def _badness(cell: _Cell) -> tuple[int, float]:
    return SEVERITY[cell.verdict], -cell.error if math.isfinite(cell.error) else -math.inf


def _extremes(errors: Iterable[float]) -> tuple[float, float]:
    positive = [error for error in errors if 0 < error < math.inf]
    return (min(positive), max(positive)) if positive else (0.0, 0.0)


def _paths(cells: dict[tuple[int, int], _Cell], low: float, high: float) -> str:
    """Cells of the same colour share one path; neighbours in a row share a rectangle."""
    runs: dict[str, list[list[int]]] = {}  # style -> row, first column, width
    for (row, column), cell in sorted(cells.items()):
        found = runs.setdefault(f"{_STYLES[cell.verdict]} h{_shade(cell.error, low, high)}", [])
        if found and found[-1][0] == row and sum(found[-1][1:]) == column:
            found[-1][2] += 1
        else:
            found.append([row, column, 1])
    paths = {
        style: "".join(f"M{column} {row}h{width}v1h-{width}z" for row, column, width in found)
        for style, found in sorted(runs.items())
    }
    return "".join(f'<path class="{style}" d="{d}"/>' for style, d in paths.items())


def _shade(error: float, low: float, high: float) -> int:
    if not math.isfinite(error) or error >= high:
        return _SHADES - 1
    if error <= low or low == high:
        return 0
    part = math.log(error / low) / math.log(high / low)
    return min(int(part * _SHADES), _SHADES - 1)
