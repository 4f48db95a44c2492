"""`fluidcore gradcheck mutate`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fluidcore import core
from fluidcore.gradcheck.commands import options

if TYPE_CHECKING:
    from fluidcore.gradcheck.commands.options import Commands
    from fluidcore.gradcheck.mutate.measure import Power

_EPILOG = """\
A bug counts as found if the checker rejects it and accepts the right gradient at the same point.
Bugs are generic, at eight sizes from 100 % to 0.03 % (one element, all, a border, a bias, the
order, the sign, ...), or of the operator: wrong formulas, and gradient operators that read, do or
leave out something wrong. A bug that changes the gradient by less than 2e-5 is not planted.

checkers: fluidcore, fluidcore-native (without float64), torch, torch-fast, jax, seed000, seed004

--native measures the checker as it judges what has no float64 form: by differences in the dtype
itself. Those of 16 bits see an error of 10 % (bfloat16: 30 %) and leave much open.

examples:
  fluidcore gradcheck mutate --seeds 3
  fluidcore gradcheck mutate --against torch,jax,seed000,seed004 --dtypes float64,float32 --jobs 2
  fluidcore gradcheck mutate --native --dtypes float32,float16,bfloat16
  fluidcore gradcheck mutate --programs --types mlp,gru
"""


def add_mutate(commands: Commands) -> None:
    """Adds `mutate`."""
    parser = commands.add_parser(
        "mutate",
        help="plant bugs, and count what is found",
        epilog=_EPILOG,
        description="Plants bugs in right gradients and counts what the checker finds.",
    )
    add = parser.add_argument
    add("--against", default="", metavar="A,B", help="other checkers, on the same cases")
    every = "float64,float32,float16,bfloat16"
    add("--dtypes", type=options.dtype_list, default=every, help=f"default {every}")
    add("--seeds", type=int, default=2, help="how many examples of each operator; default 2")
    add("--first-seed", type=int, default=1000, help="0 to 999 are for tuning; default 1000")
    add("--bugs", type=int, default=4, help="planted in each example; default 4")
    add("--types", metavar="A,B", help="operators, or programs; default all")
    add("--kernel", action="store_true", help="the bugs are in the dtype under test only")
    add("--native", action="store_true", help="judge in the dtype under test, without float64")
    add("--programs", action="store_true", help="programs in place of operators")
    add("--jobs", type=int, default=1, help="processes")
    add("--missed", type=int, default=10, help="how many of each kind are listed; default 10")
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from fluidcore.gradcheck.mutate.run import PROGRAM_DTYPES, Plan, run
    from fluidcore.gradcheck.mutate.table import power_table

    for name in ("seeds", "bugs", "jobs"):
        if getattr(chosen, name) < 1:
            raise core.InvalidArgument(
                f"mutate: --{name} must be 1 or more, got {getattr(chosen, name)}"
            )
    worst = options.PASSED
    subject = "fluidcore-native" if chosen.native else "fluidcore"
    others = [name for name in chosen.against.split(",") if name and name != subject]
    dtypes = [d for d in chosen.dtypes if not chosen.programs or d in PROGRAM_DTYPES]
    if not dtypes:
        raise core.InvalidArgument(
            f"mutate: programs are in {', '.join(PROGRAM_DTYPES)}, got {', '.join(chosen.dtypes)}"
        )
    for dtype in dtypes:
        plan = Plan(
            [subject, *others],
            dtype,
            range(chosen.first_seed, chosen.first_seed + chosen.seeds),
            chosen.bugs,
            chosen.types.split(",") if chosen.types else None,
            "kernel" if chosen.kernel else "formula",
            chosen.programs,
        )
        powers: dict[str, Power] = {}
        for done, count, so_far in run(plan, chosen.jobs):
            powers = so_far
            if sys.stderr.isatty():
                print(f"\r{dtype}: {done} of {count}", end="\r", file=sys.stderr)
        print(f"\n{dtype}\n\n{power_table(powers)}")
        own = powers.get(subject)
        if own is None:
            continue
        for title, texts in (
            ("accused", own.wrongly_accused),
            ("inconclusive", own.left_open),
            ("missed", own.missed),
        ):
            for text in texts[: chosen.missed]:
                print(f"  {title}: {text}")
        if own.wrongly_accused:
            worst = options.FAILED
    return worst
