"""`fluidcore gradcheck op` and `fluidcore gradcheck all`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from fluidcore import core
from fluidcore.base.op_library import add_op_library
from fluidcore.gradcheck.cli import options
from fluidcore.gradcheck.cli.processes import in_processes
from fluidcore.gradcheck.verdict import Verdict

if TYPE_CHECKING:
    from fluidcore.gradcheck.all_ops import Check
    from fluidcore.gradcheck.cli.options import Commands
    from fluidcore.gradcheck.cli.progress_table import Line
    from fluidcore.gradcheck.report.result import GradCheckReport

_TABLE = """\
A line has the largest relative error that was found, and what the check sees: the smallest relative
error that would have been reported in every element; "in part" if some elements cannot be judged.

"""
_OP = f"""\
{_TABLE}examples:
  fluidcore gradcheck op conv2d
  fluidcore gradcheck op mine --library build/libmine.so
  fluidcore gradcheck op matmul matmul_grad --dtype float32,float64 --seed 7 --report matmul.html
"""
_ALL = f"""\
{_TABLE}Operators of control flow are checked in programs that use them.

examples:
  fluidcore gradcheck all
  fluidcore gradcheck all --per-op 3 --dtypes float32 --report all.html --report all.xml --quiet
"""


def add_op(commands: Commands) -> None:
    """Adds `op`."""
    parser = commands.add_parser(
        "op",
        help="check operators",
        epilog=_OP,
        description="Checks operators at examples of several shapes and attributes.",
    )
    parser.add_argument("types", nargs="+", metavar="NAME", help="for example conv2d")
    _add_options(parser, jobs=1)


def add_all(commands: Commands) -> None:
    """Adds `all`."""
    parser = commands.add_parser(
        "all",
        help="check every operator that has a gradient",
        epilog=_ALL,
        description="Checks every operator that has a gradient.",
    )
    parser.add_argument("--no-programs", action="store_true", help="leave control flow out")
    parser.set_defaults(types=None)
    _add_options(parser, jobs=len(os.sched_getaffinity(0)))


def _add_options(parser: argparse.ArgumentParser, jobs: int) -> None:
    from fluidcore.gradcheck.cases import DTYPES

    parser.add_argument("--per-op", type=int, default=20, help="examples for each; default 20")
    parser.add_argument("--jobs", type=int, default=jobs, help=f"processes; default {jobs}")
    parser.add_argument(
        "--library", action="append", default=[], metavar="FILE", help="of operators, loaded first"
    )
    options.add_dtypes_option(parser, DTYPES)
    options.add_check_options(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from fluidcore.gradcheck import all_ops, cases
    from fluidcore.gradcheck.cli import progress_table

    for name, value in (("per-op", chosen.per_op), ("jobs", chosen.jobs)):
        if value < 1:
            raise core.InvalidArgument(f"--{name} must be at least 1, got {value}")
    for path in chosen.library:
        add_op_library(path)
    config = options.config_of(chosen)
    config = replace(config, workers=config.workers or 1)  # the examples are too small for threads
    types = chosen.types or cases.differentiable_types()
    rows = {t: [d for d in cases.dtypes_of(t) if d in chosen.dtypes] for t in types}
    for op_type, dtypes in rows.items():
        if not dtypes and chosen.types:
            cases.examples(op_type, chosen.seed, chosen.dtypes[0])  # raises: it has none of them
    # All dtypes in one process: the programs of one are those that another is compared with.
    tasks: list[list[Callable[[], list[Check]]]] = [
        [
            partial(all_ops.each_check, config, [op_type], chosen.per_op, [dtype], chosen.seed)
            for dtype in dtypes
        ]
        for op_type, dtypes in rows.items()
    ]
    if chosen.types is None and not chosen.no_programs:
        tasks += [
            [
                partial(all_ops.each_program_check, config, [name], [dtype], chosen.seed)
                for dtype in chosen.dtypes
            ]
            for name in cases.program_names()
        ]
    found: list[_Found] = []
    start = time.perf_counter()
    with progress_table.table(sum(map(len, tasks)), chosen.quiet) as add:
        summaries = [partial(_summarized, task) for task in tasks]
        for group in in_processes(summaries, chosen.jobs, chosen.library):
            for done in group:
                add(done.line)
            found.extend(group)
    by_type: dict[str, list[GradCheckReport]] = {}
    for each in found:
        by_type.setdefault(each.kind, []).extend(each.merged)
    return progress_table.conclude(
        chosen,
        "checks",
        [verdict for each in found for verdict in each.verdicts],
        [report for each in found for report in each.unproven],
        start,
        [all_ops.joined(group) for group in by_type.values()],
    )


class _Found(NamedTuple):
    """What is needed of the checks of an operator in a dtype, or of a program: little to send.

    Attributes:
        kind: The same for what is one report in files.
        line: Of the table.
        verdicts: One for each check.
        unproven: The reports that are not PASS.
        merged: Of all checks.
    """

    kind: str
    line: Line
    verdicts: list[Verdict]
    unproven: list[GradCheckReport]
    merged: list[GradCheckReport]


def _summarized(tasks: Sequence[Callable[[], list[Check]]]) -> list[_Found]:
    return [_summary(checks) for checks in (task() for task in tasks) if checks]


def _summary(checks: list[Check]) -> _Found:
    from fluidcore.gradcheck import all_ops, cases
    from fluidcore.gradcheck.cli.progress_table import Line

    reports = [check.report for check in checks]
    name, dtype = reports[0].who, checks[0].dtype
    is_program = isinstance(checks[0].example, cases.ProgramExample)
    return _Found(
        f"{name} {dtype}" if is_program else name,
        Line.of(name, dtype, reports),
        [report.verdict for report in reports],
        [report for report in reports if report.verdict is not Verdict.PASS],
        all_ops.merged(checks),
    )
