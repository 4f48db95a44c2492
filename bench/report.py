"""Measured rows as a table of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zipfile import ZipFile

from bench.measure import Row
from bench.workloads import TRAINING

LOSS_TOLERANCE = 1e-3
_MILLISECONDS = 1e3


def best_rows(rows: Iterable[Row]) -> list[Row]:
    """One row for each cell of the table: of several rounds the one with the lowest median."""
    best: dict[tuple[str, str, int], Row] = {}
    for row in rows:
        key = (row["framework"], row["workload"], row["threads"])
        if key not in best or seconds(row) < seconds(best[key]):
            best[key] = row
    return list(best.values())


def seconds(row: Row) -> float:
    """The median, infinite where the measurement failed."""
    return float(row.get("median", float("inf")))


def loss_difference(rows: Sequence[Row], key: str = "losses") -> float:
    """The largest difference between the frameworks' losses after one, two and three steps."""
    differences = [
        abs(a - b)
        for row in rows[1:]
        for a, b in zip(rows[0].get(key, []), row.get(key, []), strict=False)
    ]
    return max(differences, default=0.0)


def _title(workload: str) -> str:
    name, _, contended = workload.partition(" ")
    if name not in TRAINING:
        return {"chain": "chain of 1,000 operators (µs per operator)"}.get(name, name)
    return f"{name}: {TRAINING[name].title}" + (", one core busy" if contended else "")


def figure(row: Row | None) -> str:
    """Milliseconds, microseconds per operator, or what failed; `~` marks too few clean repeats."""
    if row is None:
        return "-"
    if "error" in row:
        return f"failed: {row['error'][:60]}"
    value = row.get("us_per_operator", row["median"] * _MILLISECONDS)
    noisy = "~" if row.get("clean", 3) < 3 else ""
    return f"{noisy}{value:.3f}"


def _ratio(rows: Sequence[Row | None]) -> str:
    first, second = (seconds(row) if row else float("inf") for row in rows[:2])
    return f"{second / first:.2f}x" if max(first, second) < float("inf") else "-"


def _spread(rows: Sequence[Row | None]) -> str:
    spreads = [
        (row["most"] - row["least"]) / row["median"] for row in rows if row and "most" in row
    ]
    return f"{max(spreads):.0%}" if spreads else "-"


def table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    rows = [headings, ["---"] * len(headings), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _cells(rows: Sequence[Row], names: Sequence[str]) -> dict[tuple[str, int], list[Row | None]]:
    cells: dict[tuple[str, int], list[Row | None]] = {}
    for row in rows:
        cell = cells.setdefault((row["workload"], row["threads"]), [None] * len(names))
        cell[names.index(row["framework"])] = row
    return cells


def time_table(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Milliseconds per step; the ratio says how many times faster the first framework is."""
    lines = []
    for (workload, threads), cell in _cells(rows, names).items():
        if workload == "import":
            continue
        found = [row for row in cell if row and "losses" in row]
        difference = f"{loss_difference(found):.1e}" if len(found) > 1 else "-"
        values = [figure(row) for row in cell]
        ratio = [_ratio(cell)] if len(names) > 1 else []
        lines.append([_title(workload), str(threads), *values, *ratio, difference, _spread(cell)])
    ratio = [f"{names[1]} / {names[0]}"] if len(names) > 1 else []
    headings = ["ms per step", "threads", *names, *ratio, "loss difference", "spread"]
    return table(headings, lines) if lines else ""


def slowdown_table(rows: Sequence[Row], names: Sequence[str]) -> str:
    """How many times slower a step is while another process keeps one of two cores busy."""
    cells = _cells(rows, names)
    lines = []
    for (workload, threads), busy in cells.items():
        if not workload.endswith("contended"):
            continue
        quiet = cells.get((workload.partition(" ")[0], threads), [None] * len(names))
        slower = [_ratio([q, b]) for q, b in zip(quiet, busy, strict=True)]
        lines.append([_title(workload), *slower])
    return table(["slower than on an idle machine", *names], lines) if lines else ""


def footprint_table(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Import time, and memory after the import and at the peak of a training run."""
    cells = _cells(rows, names)
    lines = []
    if ("import", 1) in cells:
        imports = cells["import", 1]
        lines.append(["import, ms", *(figure(row) for row in imports)])
        lines.append(["memory after import, MB", *map(_megabytes, imports)])
    for (workload, threads), cell in cells.items():
        if workload in TRAINING and threads == 1:
            lines.append([f"peak memory of training {workload}, MB", *map(_megabytes, cell)])
    return table(["footprint", *names], lines) if lines else ""


def _megabytes(row: Row | None) -> str:
    return f"{row['peak_mb']:.0f}" if row and "peak_mb" in row else "-"


def wheel_line(path: str) -> str:
    """Size of a wheel: our own code and what is bundled with it."""
    with ZipFile(path) as wheel:
        files = wheel.infolist()
    total = sum(file.compress_size for file in files)
    bundled = sum(file.compress_size for file in files if "libdnnl" in file.filename)
    own, other = (total - bundled) / 1e6, bundled / 1e6
    return f"wheel: {total / 1e6:.1f} MB, of it {own:.1f} MB our own and {other:.1f} MB oneDNN\n"
