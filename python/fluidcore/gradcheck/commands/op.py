"""`fluidcore gradcheck op` and `fluidcore gradcheck all`."""

from __future__ import annotations

import argparse
import time
from itertools import groupby
from typing import TYPE_CHECKING

from fluidcore import core
from fluidcore.gradcheck.commands import options

if TYPE_CHECKING:
    from fluidcore.gradcheck.commands.options import Commands
    from fluidcore.gradcheck.report.result import GradCheckReport

_TABLE = """\
A line has the largest relative error that was found, and what the check sees: the smallest relative
error that would have been reported in every element; "in part" if some elements cannot be judged.

"""
_OP = f"""\
{_TABLE}examples:
  fluidcore gradcheck op conv2d
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
    _add_options(parser)


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
    _add_options(parser)


def _add_options(parser: argparse.ArgumentParser) -> None:
    from fluidcore.gradcheck.cases import DTYPES

    parser.add_argument("--per-op", type=int, default=20, help="examples for each; default 20")
    options.add_dtypes_option(parser, DTYPES)
    options.add_check_options(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from fluidcore.gradcheck import all_ops, cases
    from fluidcore.gradcheck.commands import table

    if chosen.per_op < 1:
        raise core.InvalidArgument(f"--per-op must be at least 1, got {chosen.per_op}")
    config = options.config_of(chosen)
    types = chosen.types or cases.differentiable_types()
    rows = {t: [d for d in cases.dtypes_of(t) if d in chosen.dtypes] for t in types}
    for op_type, dtypes in rows.items():
        if not dtypes and chosen.types:
            cases.examples(op_type, chosen.seed, chosen.dtypes[0])  # raises: it has none of them
    programs = chosen.types is None and not chosen.no_programs
    checks: list[all_ops.OpCheck] = []
    whole: list[GradCheckReport] = []
    start = time.perf_counter()
    with table.Table(sum(map(len, rows.values())), chosen.quiet) as lines:
        found = all_ops.each_check(config, types, chosen.per_op, chosen.dtypes, chosen.seed)
        for (op_type, dtype), group in groupby(found, lambda check: (check.op_type, check.dtype)):
            lines.begin(f"{op_type} {dtype}")
            done = list(group)
            checks += done
            lines.add(op_type, dtype, [check.report for check in done])
        if programs:
            for check in all_ops.each_program_check(config, chosen.dtypes, chosen.seed):
                whole.append(check.report)
                lines.add(check.report.who, check.dtype, [check.report])
    reports = [check.report for check in checks] + whole
    table.print_failures(reports)
    table.print_summary("checks", reports, time.perf_counter() - start)
    options.save_reports(chosen, all_ops.merged(checks) + whole)
    return options.exit_code(report.verdict for report in reports)
