"""python -m tests.power: plants bugs in right gradients and counts what checkers find."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fluidcore import core
from fluidcore.gradcheck.cli import options
from tests.power.left_out import left_out_text
from tests.power.measure import Power
from tests.power.run import PROGRAM_DTYPES, Plan, run
from tests.power.table import power_table

_PROG = "python -m tests.power"
_EPILOG = """\
A bug counts as found if the checker rejects it and accepts the right gradient at the same point.
Bugs are generic, at eight sizes from 100 % to 0.03 % (one element, all, a border, a bias, the
order, the sign, ...), or of the operator: wrong formulas, and gradient operators that read, do or
leave out something wrong. What is left out, examples and bugs, is counted below each table.

checkers: fluidcore, fluidcore-native (without float64), torch, torch-fast, jax, seed000, seed004

--native measures the checker as it judges what has no float64 form: by differences in the dtype
itself. Those of 16 bits see an error of 10 % (bfloat16: 30 %) and leave much open.

examples:
  python -m tests.power --seeds 3
  python -m tests.power --against torch,jax,seed000,seed004 --dtypes float64,float32 --jobs 2
  python -m tests.power --native --dtypes float32,float16,bfloat16
  python -m tests.power --programs --types mlp,gru
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, 1 if a right gradient was accused, 3 for wrong arguments.

    Args:
        arguments: Without the name of the program; None for those of the process.
    """
    chosen = _parser().parse_args(arguments)
    try:
        return _run(chosen)
    except core.Error as error:
        print(f"{_PROG}: {error}", file=sys.stderr)
        return options.MISUSED


def _parser() -> options.Parser:
    parser = options.Parser(
        prog=_PROG,
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
    return parser


def _run(chosen: argparse.Namespace) -> int:
    for name in ("seeds", "bugs", "jobs"):
        if getattr(chosen, name) < 1:
            raise core.InvalidArgument(f"--{name} must be 1 or more, got {getattr(chosen, name)}")
    worst = options.PASSED
    subject = "fluidcore-native" if chosen.native else "fluidcore"
    others = [name for name in chosen.against.split(",") if name and name != subject]
    dtypes = [d for d in chosen.dtypes if not chosen.programs or d in PROGRAM_DTYPES]
    if not dtypes:
        raise core.InvalidArgument(
            f"programs are in {', '.join(PROGRAM_DTYPES)}, got {', '.join(chosen.dtypes)}"
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
        if own.left_out:
            print(f"\n{left_out_text(own.left_out)}\n")
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


if __name__ == "__main__":
    sys.exit(main())
