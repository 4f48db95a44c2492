"""Prints what was found, line by line as it is found."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fluidcore.gradcheck.report.values import is_seen
from fluidcore.gradcheck.verdict import Verdict

if TYPE_CHECKING:
    from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult

_GLYPHS = {Verdict.PASS: "ok", Verdict.FAIL: "FAIL", Verdict.INCONCLUSIVE: "?"}
_COLOURS = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.INCONCLUSIVE: "yellow"}
_MOST_LINES = 25
_HEADER = f"{'':28} {'dtype':9} {'':4} {'checks':>6} {'elements':>9} {'error':>8} {'sees':>8}"


class Table:
    """A line for each operator and dtype, with a bar below it on a terminal.

    Args:
        total: How many lines there will be.
        quiet: Whether to leave out lines of what passed.
    """

    def __init__(self, total: int, quiet: bool = False) -> None:
        self._quiet = quiet
        self._total = total
        self._progress: Any = None
        self._task: Any = None
        self._live: AbstractContextManager[Any] = nullcontext()
        if sys.stdout.isatty() and not quiet:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._progress = Progress(*columns, transient=True)
            self._live = self._progress

    def __enter__(self) -> Table:
        self._live.__enter__()
        if self._progress is not None:
            self._task = self._progress.add_task("", total=self._total)
        if not self._quiet:
            self._print(_HEADER)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def add(self, name: str, dtype: str, reports: Sequence[GradCheckReport]) -> None:
        """Prints a line."""
        verdict = Verdict.together(report.verdict for report in reports)
        if self._progress is not None:
            self._progress.update(self._task, advance=1, description=f"{name} {dtype}")
        if self._quiet and verdict is Verdict.PASS:
            return
        results = [result for report in reports for result in report.results]
        elements = sum(result.num_elements for result in results)
        error = max((result.max_relative_error for result in results), default=0.0)
        line = (
            f"{name:28} {dtype:9} {_GLYPHS[verdict]:4} {len(reports):6} {elements:9} "
            f"{error:8.1e} {_sees(results):>8}"
        )
        self._print(line.rstrip(), _COLOURS[verdict])

    def _print(self, line: str, colour: str = "") -> None:
        if self._progress is None:
            print(line, flush=True)
        else:
            self._progress.console.print(line, style=colour, highlight=False, markup=False)


def _sees(results: Sequence[GradCheckResult]) -> str:
    """The smallest relative error that would have been reported in every element.

    "in part" where some elements could not be judged in any way, "nothing" where none could.
    """
    checked = [result for result in results if result.num_elements]
    if not checked:
        return ""
    worst = max(checked, key=lambda result: result.resolution)
    if is_seen(worst.resolution):
        return f"{worst.resolution:.1e}"
    return "in part" if worst.num_passed else "nothing"


def print_failures(reports: Sequence[GradCheckReport]) -> None:
    """Prints everything that is not PASS, with at most 25 lines for each."""
    for report in reports:
        if report.verdict is not Verdict.PASS:
            lines = str(report).splitlines()
            if len(lines) > _MOST_LINES:
                left = len(lines) - _MOST_LINES + 1
                lines = [*lines[: _MOST_LINES - 1], f"... {left} more lines: --report FILE"]
            print("\n" + "\n".join(lines))


def print_summary(what: str, reports: Sequence[GradCheckReport], seconds: float) -> None:
    """Prints how many there are of each verdict."""
    counts = dict.fromkeys(Verdict, 0)
    for report in reports:
        counts[report.verdict] += 1
    found = ", ".join(f"{number} {verdict.value}" for verdict, number in counts.items() if number)
    print(f"\n{len(reports)} {what}: {found or 'nothing to check'} in {seconds:.1f} s")
