"""Checking gradients: `python -m bench --gradcheck`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

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
        threads: Of fluidcore.
        peer_threads: Of the peer.
    """

    case: str
    mode: str
    peer: tuple[str, str] | None = None
    faster: float | None = None
    seconds: float | None = None
    threads: int = THREADS
    peer_threads: int = THREADS


LINES = (
    *(Line(case, "differences", ("torch", "slow"), 10) for case in SMALL),
    *(Line(case, "error bars", ("torch", "slow"), 1) for case in SMALL),
    *(Line(case, "directional", ("torch", "fast"), 1) for case in SMALL),
    *(Line(case, "directional anew", ("torch", "fast")) for case in SMALL),
    Line("mlp", "error bars", ("numdifftools", "gradient")),
    Line("sin", "default", ("torch", "slow"), 20),
    Line("softmax", "default", ("torch", "slow"), 20),
    Line("softmax", "error bars", ("torch", "slow"), 1 / 1.5, threads=1, peer_threads=1),
    Line("softmax", "error bars", ("fluidcore", "error bars"), 1.7, peer_threads=1),
    Line("tanh", "default", seconds=3),
    Line("resnet", "directional", ("torch", "fast"), seconds=60),
)


Cell: TypeAlias = tuple[str, str, int]  # framework, workload, threads


def _workload(case: str, mode: str) -> str:
    return f"check {case} {mode}"


def _cell_of(row: Row) -> Cell:
    return row["framework"], row["workload"], row["threads"]


def measurements(
    frameworks: Iterable[Framework],
    rounds: int,
    cases: Collection[str] = (),
    known: Sequence[Row] = (),
) -> Iterator[Row]:
    """Every mode, each in a process of its own; one that fails leaves the others alone.

    Args:
        frameworks: fluidcore and its peers.
        rounds: How often.
        cases: Only these; all if there are none.
        known: Rows of an earlier run. What they hold is not measured again.
    """
    by_name = {framework.name: framework for framework in frameworks}
    cells: dict[Cell, None] = {}
    for line in LINES:
        if cases and line.case not in cases:
            continue
        cells["fluidcore", _workload(line.case, line.mode), line.threads] = None
        if line.peer is not None and line.peer[0] in by_name:
            cells[line.peer[0], _workload(line.case, line.peer[1]), line.peer_threads] = None
    left = Counter(_cell_of(row) for row in known if "error" not in row)
    for _ in range(rounds):
        for cell in cells:
            if left[cell] > 0:
                left[cell] -= 1
            else:
                yield measure(by_name[cell[0]], *cell[1:])


class Results:
    """The best of all rounds, as a table.

    Args:
        rows: What was measured.
        cases: Only these lines; all if there are none.
        peers: The peers that take part.

    Attributes:
        missed: The targets that were missed or could not be judged, and the checks that did not
            pass.
    """

    def __init__(
        self, rows: Sequence[Row], cases: Collection[str] = (), peers: Collection[str] = ()
    ) -> None:
        good = [row for row in rows if "error" not in row]
        self._lines = [line for line in LINES if not cases or line.case in cases]
        self._peers = {"fluidcore", *peers}
        self._rows: Mapping[Cell, Row] = {_cell_of(row): row for row in best_rows(good)}
        self.missed = [
            f"{name}: {workload.removeprefix('check ')} says {row['verdict']}"
            for (name, workload, _), row in self._rows.items()
            if row["verdict"] != "pass"
        ]

    def table(self) -> str:
        """Milliseconds of a complete check, and how many times longer the peer takes."""
        headings = ["ms per check", "fluidcore", "ms", "MB at most"]
        headings += ["peer", "ms", "peer / fluidcore", "target"]
        return table(headings, map(self._cells, self._lines))

    def _cells(self, line: Line) -> list[str]:
        own = self._rows.get(("fluidcore", _workload(line.case, line.mode), line.threads))
        peer = name = None
        if line.peer is not None:
            workload = _workload(line.case, line.peer[1])
            name = _on_threads(" ".join(line.peer), line.peer_threads)
            peer = self._rows.get((line.peer[0], workload, line.peer_threads))
        ratio = peer["median"] / own["median"] if own and peer else None
        shown = "-" if ratio is None else f"{ratio:.2f}x"
        target = self._target(line, own, ratio)
        mode = _on_threads(line.mode, line.threads)
        memory = "-" if own is None else f"{own['peak_mb']:.0f}"
        cells = [_cell(own), memory, name or "-", _cell(peer)]
        return [TITLES[line.case], mode, *cells, shown, target]

    def _target(self, line: Line, own: Row | None, ratio: float | None) -> str:
        if line.seconds is not None:
            met = None if own is None else own["median"] <= line.seconds
            text = f"{line.seconds:g} s"
        elif line.faster is not None and line.peer and line.peer[0] in self._peers:
            met = None if ratio is None else ratio >= line.faster
            text = f"{line.faster:.2g}x"
        else:
            return ""
        outcome = {True: "met", False: "missed", None: "not known"}[met]
        if not met:
            self.missed.append(f"{line.case}, {line.mode}: target {outcome}")
        return f"{text}: {outcome}"


def _on_threads(text: str, threads: int) -> str:
    return text if threads == THREADS else f"{text}, {threads} thread"


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    noisy = "~" if row.get("clean", 3) < 3 else ""
    verdict = "" if row["verdict"] == "pass" else f" ({row['verdict']})"
    return f"{noisy}{row['median'] * 1e3:.1f}{verdict}"
