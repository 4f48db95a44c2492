"""`fluidcore gradcheck program`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.gradcheck.cli import options
from fluidcore.program.collective import is_collective

if TYPE_CHECKING:
    from fluidcore.gradcheck.cli.options import Commands
    from fluidcore.gradcheck.config import GradCheckConfig
    from fluidcore.gradcheck.report.result import GradCheckReport
    from fluidcore.gradcheck.target.target import Array
    from fluidcore.program import Program, Variable

_EPILOG = """\
FILE is a program.json, or a folder of save_inference_model, whose parameters are read from
params.safetensors. What is not given is drawn at random: floating data and parameters from the
normal distribution, whole numbers from {0, 1}; an extent of -1 is taken as 3. If the program has
gradient operators, these are checked. A loss of several numbers is squared and averaged. A program
with collective operators is checked by all processes of mpiexec, each with its part of the rows.

examples:
  fluidcore gradcheck program model/
  fluidcore gradcheck program program.json --loss mean_0 --feed image=image.npy --report r.html
  mpiexec -n 2 fluidcore gradcheck program program.json --loss mean_0
"""
_UNKNOWN_EXTENT = 3


class Ranks(NamedTuple):
    """Processes that run a program together.

    Attributes:
        size: How many.
        check: Of a program, its loss, the names to differentiate by, values of all data and
            parameters, and a config, on all ranks; None on those that do not have the report.
    """

    size: int
    check: Callable[
        [Program, str, list[str] | None, dict[str, Array], GradCheckConfig], GradCheckReport | None
    ]


def add_program(commands: Commands) -> None:
    """Adds `program`."""
    parser = commands.add_parser(
        "program",
        help="check a saved program",
        epilog=_EPILOG,
        description="Checks the gradient of a program by its parameters, and finds what is wrong.",
    )
    parser.add_argument("file", metavar="FILE")
    add_program_options(parser)
    parser.set_defaults(run=_run)


def add_program_options(parser: options.Parser) -> None:
    """What says how a program is checked, whatever it is read from."""
    parser.add_argument("--loss", metavar="NAME", help="default: what the model is fetched for")
    parser.add_argument(
        "--feed",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="the value of a variable; may be repeated",
    )
    parser.add_argument(
        "--check",
        action="append",
        metavar="NAME",
        help="a variable to differentiate by; default: all parameters; may be repeated",
    )
    options.add_check_options(parser)


def _run(chosen: argparse.Namespace) -> int:
    return check_read(chosen, *_load(chosen.file))


def check_read(
    chosen: argparse.Namespace, program: Program, values: dict[str, Array], fetches: list[str]
) -> int:
    """Checks a program that was read, prints the report, and returns the exit code.

    Args:
        chosen: The arguments: file, loss, feed, check and those of every check.
        program: The program.
        values: What is known of its parameters.
        fetches: What it is fetched for.
    """
    from fluidcore.gradcheck.cli import progress_table

    config = options.config_of(chosen)
    ranks = _ranks(program, chosen.ranks)
    loss = _loss(program, chosen.loss, fetches)
    if ranks is None and loss.shape not in ((), (1,)):
        program = program.clone().prune([loss.name])
        loss = _mean_square(program, program.global_block().var(loss.name))
    values |= _fed(program, chosen.feed)
    values |= _drawn(program, values, chosen.seed, _UNKNOWN_EXTENT * (ranks.size if ranks else 1))
    declared = program.global_block()
    values = {name: value for name, value in values.items() if declared.has_var(name)}
    start = time.perf_counter()
    check = _check_alone if ranks is None else ranks.check
    report = check(program, loss.name, chosen.check, values, config)
    if report is None:
        return options.PASSED  # the first rank says it
    name = os.path.basename(os.path.abspath(chosen.file))
    dtype = report.results[0].dtype if report.results else loss.dtype
    return progress_table.conclude_one(chosen, "program", report, start, name, dtype)


def _check_alone(
    program: Program,
    loss: str,
    names: list[str] | None,
    values: dict[str, Array],
    config: GradCheckConfig,
) -> GradCheckReport:
    from fluidcore.gradcheck.adapters.program import program_target
    from fluidcore.gradcheck.cases import ProgramExample
    from fluidcore.gradcheck.pipeline.run import run_check

    example = ProgramExample("", program, values, loss)
    target = program_target(
        program, example.data(), loss, parameter_list=names, scope=example.scope()
    )
    return run_check(target, config)


def _load(path: str) -> tuple[Program, dict[str, Array], list[str]]:
    """The program, the values that are saved with it, and what it is fetched for."""
    from fluidcore.executor import Executor, scope_guard
    from fluidcore.io import load_inference_model
    from fluidcore.program import Program

    if not os.path.isdir(path):
        with open(path, "rb") as file:
            return Program.parse_from_string(file.read()), {}, []
    scope = core.Scope()
    with scope_guard(scope):
        program, _, targets = load_inference_model(path, Executor())
    names = scope.local_var_names()
    values: dict[str, Array] = {n: np.array(scope.find_var(n).get_tensor()) for n in names}
    return program, values, [target.name for target in targets]


def _ranks(program: Program, started: Callable[[], Ranks] | None) -> Ranks | None:
    """Those that run the program together; None where a process runs it alone."""
    types = (op.type for block in program.blocks for op in block.ops)
    shared = next(filter(is_collective, types), None)
    if shared is None:
        return None
    if started is None:
        raise core.InvalidArgument(
            "gradcheck program: the program must be one that a process runs alone, got "
            f"{shared}, which all ranks run together; write mpiexec -n 2 fluidcore gradcheck "
            "program, or call fluid.parallel.check_gradients"
        )
    return started()


def _loss(program: Program, name: str | None, fetches: list[str]) -> Variable:
    block = program.global_block()
    if name is not None:
        return block.var(name)
    if len(fetches) == 1:
        return block.var(fetches[0])
    raise core.InvalidArgument(
        "gradcheck program: there must be one result to differentiate, got "
        f"{fetches or 'a program that does not say'}; name it with --loss"
    )


def _mean_square(program: Program, loss: Variable) -> Variable:
    from fluidcore import layers
    from fluidcore.program import program_guard

    with program_guard(program, type(program)()):
        return layers.mean(layers.square(loss))


def _fed(program: Program, given: list[str]) -> dict[str, Array]:
    values: dict[str, Array] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals:
            raise core.InvalidArgument(f"--feed must be NAME=FILE.npy, got {text!r}")
        try:
            value: Array = np.load(path, allow_pickle=False)
        except ValueError as error:
            raise core.InvalidArgument(f"--feed {text}: {error}") from None
        dtype = _declared(program, name)
        is_cast = dtype in FLOATING and value.dtype.kind in "fV"  # bfloat16 is saved as bytes
        if dtype == "bfloat16" and value.dtype.kind == "V":
            value = value.view(numpy_dtype(dtype))
        values[name] = value.astype(numpy_dtype(dtype)) if is_cast else value
    return values


def _declared(program: Program, name: str) -> str:
    """The dtype of a variable that is fed."""
    block = program.global_block()
    if not block.has_var(name):
        there = [n for n, v in block.vars.items() if v.desc.is_data() or v.persistable]
        raise core.NotFound(f"--feed {name}: no such variable; there are: {', '.join(there)}")
    dtype: str = block.var(name).dtype
    return dtype


def _drawn(
    program: Program, values: dict[str, Array], seed: int, unknown_extent: int = _UNKNOWN_EXTENT
) -> dict[str, Array]:
    """Values of the data and parameters that have none."""
    from fluidcore.gradcheck.target.random_numbers import stream

    drawn: dict[str, Array] = {}
    for variable in program.global_block().vars.values():
        if variable.name in values or not (variable.desc.is_data() or variable.persistable):
            continue
        rng = stream(seed, variable.name, "feed")
        shape = [unknown_extent if extent < 0 else extent for extent in variable.shape]
        whole = variable.dtype not in FLOATING
        value: Array = rng.integers(0, 2, shape) if whole else rng.standard_normal(shape)
        drawn[variable.name] = value.astype(numpy_dtype(variable.dtype))
    return drawn
