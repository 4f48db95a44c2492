"""Profiles: recorded runs, what their operators took, and the table of that."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fluidcore import core
from fluidcore.executor.profiling import set_profile
from fluidcore.profiler import chrome
from fluidcore.program.collective import is_collective


class OperatorTime(NamedTuple):
    """What one operator took, or all of one type.

    Attributes:
        type: Of the operator.
        calls: How often it ran.
        seconds: Of all calls together; without what the operators of its block took.
        shortest: Seconds of the fastest call.
        longest: Seconds of the slowest call.
        bytes: That all calls read and wrote.
        flops: Floating-point operations of all calls, a product and its addition counted as two;
            0 where they are not known.
        line: Where the program got the operator, "train.py:41", or where that is not known its
            place, "operator 3 of block 0"; "" for all of one type.
    """

    type: str
    calls: int
    seconds: float
    shortest: float
    longest: float
    bytes: int
    flops: int
    line: str

    @property
    def speed(self) -> str:
        """Arithmetic per second where the operator is about that, else bytes per second."""
        amount, unit = (self.flops, "GFLOP/s") if self.flops else (self.bytes, "GB/s")
        return f"{amount / self.seconds / 1e9:.3g} {unit}" if self.seconds > 0 else ""


class Communication(NamedTuple):
    """A sum, or what else ranks do together.

    Attributes:
        label: The operator, and what it works on.
        seconds: From its beginning to its end.
        overlap: Seconds of these in which this process ran operators that are not collective.
    """

    label: str
    seconds: float
    overlap: float


class Profile:
    """The operators that ran, slowest first; printed, it is a table of the first 30."""

    def __init__(self) -> None:
        self._core = core.Profile()

    def __iter__(self) -> Iterator[OperatorTime]:
        return iter(self.operators())

    def operators(self) -> list[OperatorTime]:
        """Each operator of a program, slowest first; copies of a program count as one."""
        places = [_place(note) for _, note in self._operators()]
        return self._sums(lambda op: op, places.__getitem__)

    def by_type(self) -> list[OperatorTime]:
        """The types of operators, slowest first."""
        types = [op_type for op_type, _ in self._operators()]
        return self._sums(types.__getitem__, lambda op: "")

    @property
    def seconds(self) -> float:
        """What all operators took together."""
        return sum(event[3] - event[4] for event in self._events()) / 1e9

    def table(
        self,
        by_type: bool = False,
        limit: int | None = 30,
        key: Callable[[OperatorTime], float] = lambda row: row.seconds,
    ) -> str:
        """A table of what took the most time.

        Args:
            by_type: One row for each type, not for each operator.
            limit: The number of rows; None for all.
            key: What the greatest of comes first.
        """
        rows = self.by_type() if by_type else self.operators()
        rows.sort(key=key, reverse=True)
        return _table(rows, len(rows) if limit is None else limit)

    def __str__(self) -> str:
        return self.table()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace that chrome://tracing and Perfetto show."""
        content = self._core.content()
        chrome.write(path, content["operators"], content["events"], content["communications"])

    def communications(self) -> list[Communication]:
        """What was exchanged with other processes, in the order of its end."""
        content = self._core.content()
        types = [op_type for op_type, _ in content["operators"]]
        busy = [
            (begin, begin + duration)
            for op, _, begin, duration, *_ in content["events"]
            if not is_collective(types[op])
        ]
        return [
            Communication(label, duration / 1e9, _common(begin, begin + duration, busy) / 1e9)
            for label, begin, duration in content["communications"]
        ]

    def _operators(self) -> list[tuple[str, str]]:
        operators: list[tuple[str, str]] = self._core.content()["operators"]
        return operators

    def _events(self) -> list[chrome.Event]:
        events: list[chrome.Event] = self._core.content()["events"]
        return events

    def _sums(
        self, group: Callable[[int], object], line: Callable[[int], str]
    ) -> list[OperatorTime]:
        operators = self._operators()
        sums: dict[object, OperatorTime] = {}
        for op, _, _, duration, inside, count, flops in self._events():
            own = (duration - inside) / 1e9
            first = OperatorTime(operators[op][0], 0, 0.0, own, own, 0, 0, line(op))
            before = sums.get(group(op), first)
            sums[group(op)] = before._replace(
                calls=before.calls + 1,
                seconds=before.seconds + own,
                shortest=min(before.shortest, own),
                longest=max(before.longest, own),
                bytes=before.bytes + count,
                flops=before.flops + flops,
            )
        return sorted(sums.values(), key=lambda row: -row.seconds)


@contextmanager
def profile(path: str | os.PathLike[str] | None = None) -> Iterator[Profile]:
    """Records the operators that run inside the `with` block, in any thread.

    Costs some tenths of a microsecond for each operator, and nothing outside of the block. A
    profile inside another one takes its place.

    Args:
        path: Where a trace for chrome://tracing or Perfetto is written at the end; None for none.

    Yields:
        The profile, which may be read in the block as well.

    Raises:
        OSError: The trace cannot be written there; tried before the block begins.
    """
    if path is not None:
        with open(path, "a"):
            pass
    recorded = Profile()
    before = set_profile(recorded._core)
    try:
        yield recorded
    finally:
        set_profile(before)
        if path is not None:
            recorded.save(path)


def _common(begin: int, end: int, others: Iterable[tuple[int, int]]) -> int:
    """The length of what an interval has in common with any of others, which may be nested."""
    common, reached = 0, begin
    for first, last in sorted(others):
        first, last = max(first, reached), min(last, end)
        if last > first:
            common += last - first
            reached = last
    return common


def _place(note: str) -> str:
    """What is left of "operator 3 of block 0 (mul), added at train.py:41"."""
    place, _, line = note.partition(", added at ")
    return line or place.rpartition(" (")[0]


_HEADINGS = ("operator", "calls", "ms", "share", "speed", "MB", "line")


def _table(rows: list[OperatorTime], limit: int) -> str:
    total = sum(row.seconds for row in rows)
    cells = [_HEADINGS, *(_cells(row, total) for row in rows[:limit])]
    if len(rows) > limit:
        rest = sum(row.seconds for row in rows[limit:])
        calls = sum(row.calls for row in rows[limit:])
        name = f"({len(rows) - limit} more)"
        cells.append((name, str(calls), f"{1e3 * rest:.3g}", _share(rest, total), "", "", ""))
    calls = sum(row.calls for row in rows)
    cells.append(("all", str(calls), f"{1e3 * total:.3g}", "", "", "", ""))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_line(row, widths) for row in cells)


def _cells(row: OperatorTime, total: float) -> tuple[str, ...]:
    return (
        row.type,
        str(row.calls),
        f"{1e3 * row.seconds:.3g}",
        _share(row.seconds, total),
        row.speed,
        f"{row.bytes / 1e6:.3g}",
        row.line,
    )


def _share(seconds: float, total: float) -> str:
    return f"{100 * seconds / total:.1f} %" if total > 0 else ""


def _line(cells: Iterable[str], widths: list[int]) -> str:
    first, *numbers, last = zip(cells, widths, strict=True)
    middle = "  ".join(cell.rjust(width) for cell, width in numbers)
    return f"{first[0].ljust(first[1])}  {middle}  {last[0]}".rstrip()
