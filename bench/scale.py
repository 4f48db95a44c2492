"""Building large graphs and their gradients: `python -m bench --scale`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bench.graphs import KINDS, SIZES
from bench.measure import Framework, Row, measure
from bench.report import table


class Quantity(NamedTuple):
    """A column of numbers: what, in which unit, and how much it may be for the largest graph."""

    key: str
    title: str
    target: float
    digits: int


QUANTITIES = (
    Quantity("forward", "forward, s", 3.0, 3),
    Quantity("backward", "append_backward, s", 1.5, 3),
    Quantity("peak_mb", "peak memory, MB", 400.0, 0),
)


def measurements(frameworks: Iterable[Framework], rounds: int, limit: float) -> Iterator[Row]:
    """Every graph, each in a process of its own; only once what needs more than `limit` seconds."""
    cells = [
        (framework, kind, size) for kind in KINDS for size in SIZES for framework in frameworks
    ]
    for _ in range(rounds):
        again = []
        for framework, kind, size in cells:
            row = measure(framework, f"graph {kind} {size} {limit:g}", 1)
            yield row
            if not row.get("stopped"):
                again.append((framework, kind, size))
        cells = again


class Results:
    """The best of all rounds, as a table.

    Attributes:
        missed: The targets that the first framework missed.
    """

    def __init__(self, rows: Sequence[Row], names: Sequence[str]) -> None:
        self._rows: dict[tuple[str, str, int], list[Row]] = {}
        for row in rows:
            _, kind, size, _ = row["workload"].split()
            self._rows.setdefault((row["framework"], kind, int(size)), []).append(row)
        self._names = names
        self.missed: list[str] = []

    def table(self) -> str:
        """A ratio says how many times less the first framework needs."""
        lines = [
            [f"{kind}: {quantity.title}", f"{size:,}", *self._cells(quantity, kind, size)]
            for kind in KINDS
            for quantity in QUANTITIES
            for size in SIZES
        ]
        against = [f"{name} / {self._names[0]}" for name in self._names[1:]]
        return table(["graph", "operators", *self._names, *against, "target"], lines)

    def _cells(self, quantity: Quantity, kind: str, size: int) -> list[str]:
        rows = [self._rows[name, kind, size] for name in self._names]
        values = [_least(some, quantity) for some in rows]
        limits = [_limit(some, quantity) for some in rows]
        shown = []
        for value, limit in zip(values, limits, strict=True):
            missing = "-" if limit is None else f"> {limit:g}"
            shown.append(missing if value is None else f"{value:.{quantity.digits}f}")
        own, *others = zip(values, limits, strict=True)
        ratios = [_ratio(own[0], *other) for other in others]
        return [*shown, *ratios, self._verdict(own[0], quantity, kind, size)]

    def _verdict(self, value: float | None, quantity: Quantity, kind: str, size: int) -> str:
        if size != SIZES[-1]:
            return ""
        met = value is not None and value <= quantity.target
        if not met:
            self.missed.append(f"{kind}: {quantity.title}")
        return f"{quantity.target:g}: {'met' if met else 'missed'}"


def _least(rows: Sequence[Row], quantity: Quantity) -> float | None:
    done = [row for row in rows if "backward" in row or quantity.key == "forward"]
    return min((row[quantity.key] for row in done if quantity.key in row), default=None)


def _limit(rows: Sequence[Row], quantity: Quantity) -> float | None:
    """The limit, if it is in this part that a graph was stopped."""
    for row in rows:
        part = "backward" if "forward" in row else "forward"
        if row.get("stopped") and part == quantity.key:
            return float(row["workload"].split()[-1])
    return None


def _ratio(own: float | None, other: float | None, limit: float | None) -> str:
    if own is not None and other is not None:
        return f"{other / own:.1f}x"
    return "-" if own is None or limit is None else f"> {limit / own:.0f}x"
