"""`fluidcore gradcheck compare` and `fluidcore gradcheck explain`: of saved reports."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TypeAlias

from fluidcore.gradcheck.cli import options
from fluidcore.gradcheck.report.phrases import count
from fluidcore.gradcheck.report.values import one_line, printable
from fluidcore.gradcheck.verdict import Verdict

if TYPE_CHECKING:
    from fluidcore.gradcheck.cli.options import Commands
    from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult

Key: TypeAlias = "tuple[str, str, str, str]"  # who, input, dtype, place

_COMPARE = """\
Prints what is in one report only, and where the verdict, or the resolution by a factor of 10, has
changed. The exit code is that of what has become worse: 0 nothing, 1 a gradient is now wrong, 2 one
can no longer be decided.

example:
  fluidcore gradcheck all --report new.json && fluidcore gradcheck compare old.json new.json
"""
_EXPLAIN = """\
Prints everything of a report that is not a pass. The exit code is that of the report.

example:
  fluidcore gradcheck explain all.json
  fluidcore gradcheck explain all.json --repro | python
"""
_FACTOR = 10.0


def add_compare(commands: Commands) -> None:
    """Adds `compare`."""
    parser = commands.add_parser(
        "compare",
        help="what changed between two reports",
        epilog=_COMPARE,
        description="Compares two reports.",
    )
    parser.add_argument("before", metavar="A.json")
    parser.add_argument("after", metavar="B.json")
    parser.set_defaults(run=_compare)


def add_explain(commands: Commands) -> None:
    """Adds `explain`."""
    parser = commands.add_parser(
        "explain",
        help="print a saved report",
        epilog=_EXPLAIN,
        description="Explains a report.",
    )
    parser.add_argument("report", metavar="R.json")
    parser.add_argument(
        "--repro", action="store_true", help="print Python text that repeats these checks instead"
    )
    parser.set_defaults(run=_explain)


def _compare(chosen: argparse.Namespace) -> int:
    before, after = _results(_load(chosen.before)), _results(_load(chosen.after))
    worse = [Verdict.PASS]
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        change = _change(old, new)
        if change:
            who, name, dtype, place = key
            print(f"{who} {name} {dtype} {place}: {change}")
        if new is not None and (old is None or old.verdict is not new.verdict):
            worse.append(new.verdict)
    same = sum(before.get(key) is not None for key in after)
    print(f"{same} results in both, {len(before) - same} only before, {len(after) - same} new")
    return options.exit_code(worse)


def _change(old: GradCheckResult | None, new: GradCheckResult | None) -> str:
    """What has changed, in words; "" if nothing that matters."""
    if old is None or new is None:
        return "no longer there" if new is None else f"new, {new.verdict.value}"
    if old.verdict is not new.verdict:
        reasons = ", ".join(reason.value for reason in new.reasons)
        return f"{old.verdict.value} -> {new.verdict.value}{f' ({reasons})' if reasons else ''}"
    low, high = sorted((old.resolution, new.resolution))
    if high > _FACTOR * low > 0:
        return f"sees {old.resolution:.1e} -> {new.resolution:.1e}"
    return ""


def _results(reports: list[GradCheckReport]) -> dict[Key, GradCheckResult]:
    found: dict[Key, GradCheckResult] = {}
    for report in reports:
        for result in report.results:
            key = (report.who, result.name, result.dtype, result.place)
            number = 2
            while key in found:  # the same check at another point
                key = (f"{report.who} #{number}", *key[1:])
                number += 1
            found[key] = result
    return found


def _explain(chosen: argparse.Namespace) -> int:
    reports = _load(chosen.report)
    for report in reports:
        if report.verdict is not Verdict.PASS:
            print(_repro(report) if chosen.repro else f"{report}\n")
    if chosen.repro:
        return options.PASSED
    verdicts = [report.verdict for report in reports]
    counts = ", ".join(f"{verdicts.count(v)} {v.value}" for v in Verdict if v in verdicts)
    print(f"{count(len(reports), 'report')}: {counts or 'nothing'}")
    return options.exit_code(verdicts)


def _repro(report: GradCheckReport) -> str:
    who = one_line(report.who)
    return printable(report.repro) or f"# {who}: its function or values cannot be written down"


def _load(path: str) -> list[GradCheckReport]:
    from fluidcore.gradcheck.report.loading import load

    return list(load(path))
