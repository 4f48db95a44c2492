"""Prints what was found, line by line as it is found."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fluidcore.gradcheck.cli import options
from fluidcore.gradcheck.report.values import is_seen
from fluidcore.gradcheck.verdict import Verdict

if TYPE_CHECKING:
    from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult

Add: TypeAlias = "Callable[[Line], None]"

_GLYPHS = {Verdict.PASS: "ok", Verdict.FAIL: "FAIL", Verdict.INCONCLUSIVE: "?"}
_COLOURS = {Verdict.PASS: "green", Verdict.FAIL: "bold red", Verdict.INCONCLUSIVE: "yellow"}
_HEADER = f"{'':28} {'dtype':9} {'':4} {'checks':>6} {'elements':>9} {'error':>8} {'sees':>8}"


class Line(NamedTuple):
    """A line of the table: what the checks of an operator in a dtype came to."""

    what: str
    verdict: Verdict
    text: str

    @classmethod
    def of(cls, name: str, dtype: str, reports: Sequence[GradCheckReport]) -> Line:
        """The line of an operator or program."""
        verdict = Verdict.together(report.verdict for report in reports)
        results = [result for report in reports for result in report.results]
        elements = sum(result.num_elements for result in results)
        error = max((result.max_relative_error for result in results), default=0.0)
        text = (
            f"{name:28} {dtype:9} {_GLYPHS[verdict]:4} {len(reports):6} {elements:9} "
            f"{error:8.1e} {_sees(results):>8}"
        )
        return cls(f"{name} {dtype}", verdict, text.rstrip())


@contextmanager
def table(total: int, quiet: bool = False) -> Iterator[Add]:
    """A function that prints a line, over a bar on a terminal.

    Args:
        total: How many lines there will be.
        quiet: Whether to leave out lines of what passed.
    """
    if not sys.stdout.isatty() or quiet:
        if not quiet:
            print(_HEADER, flush=True)
        yield lambda line: _print(line, quiet)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True) as progress:
        task = progress.add_task("", total=total)
        progress.console.print(_HEADER, highlight=False, markup=False)

        def add(line: Line) -> None:
            progress.update(task, advance=1, description=line.what)
            style = _COLOURS[line.verdict]
            progress.console.print(line.text, style=style, highlight=False, markup=False)

        yield add


def _print(line: Line, quiet: bool) -> None:
    if not (quiet and line.verdict is Verdict.PASS):
        print(line.text, flush=True)


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


def conclude(
    chosen: argparse.Namespace,
    what: str,
    verdicts: Sequence[Verdict],
    unproven: Sequence[GradCheckReport],
    start: float,
    to_save: Sequence[GradCheckReport],
) -> int:
    """Prints all that is not PASS, and how many there are of each verdict; the exit code.

    Args:
        chosen: Has the files of --report.
        what: The verdicts are of: "checks".
        verdicts: What was found.
        unproven: The reports that are not PASS.
        start: When the checks began, by time.perf_counter.
        to_save: What is written to the files.
    """
    for report in unproven:
        print(f"\n{report}")
    counts = ", ".join(f"{verdicts.count(v)} {v.value}" for v in Verdict if v in verdicts)
    seconds = time.perf_counter() - start
    print(f"\n{len(verdicts)} {what}: {counts or 'nothing to check'} in {seconds:.1f} s")
    options.save_reports(chosen, to_save)
    return options.exit_code(verdicts)


def conclude_one(
    chosen: argparse.Namespace,
    what: str,
    report: GradCheckReport,
    start: float,
    name: str,
    dtype: str,
) -> int:
    """As `conclude`, after the line of the one report that there is."""
    report = options.repeatable(report, chosen)
    with table(1, chosen.quiet) as add:
        add(Line.of(name, dtype, [report]))
    unproven = [] if report.verdict is Verdict.PASS else [report]
    return conclude(chosen, what, [report.verdict], unproven, start, [report])
