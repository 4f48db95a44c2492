"""Checking gradients: `python -m bench --gradcheck`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bench.gradient_check_cases import TITLES
from bench.measure import Framework, Row, measure
from bench.report import best_rows, table

SMALL = ("matmul", "conv2d", "lstm", "mlp")
THREADS = 2


class Line(NamedTuple):
    """A mode of fluidcore, the peer it is compared with, and its target.

    Attributes:
        case: What is checked.
        mode: Of fluidcore.
        peer: Framework and mode; None for none.
        faster: How many times faster than the peer it should be; None for no such target.
        seconds: How long it may take; None for no such target.
    """

    case: str
    mode: str
    peer: tuple[str, str] | None = None
    faster: float | None = None
    seconds: float | None = None


LINES = (
    *(Line(case, "differences", ("torch", "slow"), 10) for case in SMALL),
    *(Line(case, "error bars", ("torch", "slow"), 1) for case in SMALL),
    *(Line(case, "directional", ("torch", "fast"), 1) for case in SMALL),
    Line("mlp", "error bars", ("numdifftools", "gradient")),
    Line("sin", "default", ("torch", "slow"), 20),
    Line("softmax", "default", ("torch", "slow"), 20),
    Line("tanh", "default", seconds=3),
    Line("resnet", "directional", ("torch", "fast"), seconds=60),
)


def measurements(frameworks: Iterable[Framework], rounds: int) -> Iterator[Row]:
    """Every mode, each in a process of its own."""
    by_name = {framework.name: framework for framework in frameworks}
    cells: dict[tuple[str, str, str], None] = {}
    for line in LINES:
        cells["fluidcore", line.case, line.mode] = None
        if line.peer is not None and line.peer[0] in by_name:
            cells[line.peer[0], line.case, line.peer[1]] = None
    for _ in range(rounds):
        for name, case, mode in cells:
            yield measure(by_name[name], f"check {case} {mode}", THREADS)


class Results:
    """The best of all rounds, as a table.

    Attributes:
        missed: The targets that were missed, and the checks that did not pass.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        good = [row for row in rows if "error" not in row]
        self._rows: Mapping[tuple[str, str], Row] = {
            (row["framework"], row["workload"].removeprefix("check ")): row
            for row in best_rows(good)
        }
        self.missed = [
            f"{name}: {what} says {row['verdict']}"
            for (name, what), row in self._rows.items()
            if row["verdict"] != "pass"
        ]

    def table(self) -> str:
        """Milliseconds of a complete check, and how many times longer the peer takes."""
        headings = ["ms per check", "fluidcore", "ms", "peer", "ms", "peer / fluidcore", "target"]
        return table(headings, map(self._cells, LINES))

    def _cells(self, line: Line) -> list[str]:
        own = self._rows.get(("fluidcore", f"{line.case} {line.mode}"))
        peer = name = None
        if line.peer is not None:
            name = " ".join(line.peer)
            peer = self._rows.get((line.peer[0], f"{line.case} {line.peer[1]}"))
        ratio = peer["median"] / own["median"] if own and peer else None
        shown = "-" if ratio is None else f"{ratio:.2f}x"
        target = self._target(line, own, ratio)
        return [TITLES[line.case], line.mode, _cell(own), name or "-", _cell(peer), shown, target]

    def _target(self, line: Line, own: Row | None, ratio: float | None) -> str:
        if line.seconds is not None:
            met = own is not None and own["median"] <= line.seconds
            text = f"{line.seconds:g} s"
        elif line.faster is not None and ratio is not None:
            met = ratio >= line.faster
            text = f"{line.faster:g}x"
        else:
            return ""
        if not met:
            self.missed.append(f"{line.case}, {line.mode}: target missed")
        return f"{text}: {'met' if met else 'missed'}"


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    noisy = "~" if row.get("clean", 3) < 3 else ""
    verdict = "" if row["verdict"] == "pass" else f" ({row['verdict']})"
    return f"{noisy}{row['median'] * 1e3:.1f}{verdict}"
