"""The command `fluidcore`."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fluidcore import __version__, core

if TYPE_CHECKING:
    from fluidcore.gradcheck.cli.program import Ranks
    from fluidcore.program import Program


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 0, 1 after an error, or 2 for wrong arguments.

    `gradcheck` has others: see fluidcore.gradcheck.cli.command.

    Args:
        arguments: Without the name of the program; None for those of the process.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["gradcheck"]:  # has exit codes of its own
        from fluidcore.gradcheck.cli.command import main as gradcheck

        return gradcheck(given[1:], ranks=_ranks)
    chosen = _parser().parse_args(given)
    try:
        return int(chosen.command(chosen))
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("\nfluidcore: interrupted", file=sys.stderr)
        return 130
    except (core.Error, OSError) as error:
        print(f"fluidcore: {error}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(f"  {note}", file=sys.stderr)
        return 1


def _ranks() -> Ranks:
    from fluidcore.parallel.saved_program import ranks

    return ranks()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fluidcore", description="A deep-learning core in which a model is a program."
    )
    parser.add_argument("--version", action="version", version=_versions())
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="train a network on handwritten digits, step by step")
    demo.add_argument("--seed", type=_number(0), default=0, help="0, 1, ...; default 0")
    demo.add_argument("--epochs", type=_number(1), help="how often training sees every image")
    demo.add_argument("--dir", help="where the model goes; default ./fluidcore-demo")
    demo.add_argument("--quick", action="store_true", help="fewer epochs, fewer gradients")
    demo.set_defaults(command=_demo)
    commands.add_parser("gradcheck", help="check gradients of operators, programs and functions")
    show = commands.add_parser("show", help="print the program of a saved model")
    show.add_argument("dir", help="a folder of save_inference_model, or a program.json")
    show.add_argument("--plan", action="store_true", help="print the steps of a run instead")
    show.add_argument("--batch", type=_number(1), default=1, help="of that run; default 1")
    show.set_defaults(command=_show)
    summary = commands.add_parser("summary", help="say what a saved model holds and takes")
    summary.add_argument("dir", help="a folder of save_inference_model, or a program.json")
    summary.add_argument("--batch", type=_number(1), default=1, help="of the inputs; default 1")
    summary.set_defaults(command=_summary)
    memory = commands.add_parser("memory", help="draw what a saved model keeps as it runs")
    memory.add_argument("dir", help="a folder of save_inference_model, or a program.json")
    memory.add_argument("--batch", type=_number(1), default=1, help="of the inputs; default 1")
    memory.set_defaults(command=_memory)
    draw = commands.add_parser("draw", help="draw the program of a saved model")
    draw.add_argument("dir", help="a folder of save_inference_model, or a program.json")
    draw.add_argument("file", help="where the picture goes: a .html, .svg or .dot")
    draw.set_defaults(command=_draw)
    profile = commands.add_parser("profile", help="say what takes the time of a saved model")
    profile.add_argument("dir", help="a folder of save_inference_model; it is fed random numbers")
    profile.add_argument("--batch", type=_number(1), default=1, help="of the inputs; default 1")
    profile.add_argument("--runs", type=_number(1), default=100, help="default 100")
    profile.add_argument("--threads", type=_number(1), help="default: as many as there are cores")
    profile.add_argument("--types", action="store_true", help="one row for each type of operator")
    profile.add_argument("--trace", help="a file for chrome://tracing or Perfetto")
    profile.set_defaults(command=_profile)
    convert = commands.add_parser("convert", help="make an ONNX file of a saved model, or back")
    convert.add_argument("source", help="a folder of save_inference_model, or a .onnx")
    convert.add_argument("target", help="where the other form goes: a .onnx, or a folder")
    convert.set_defaults(command=_convert)
    new = commands.add_parser("new-op", help="write a project of an operator in C++")
    new.add_argument("name", help="of the operator, for example my_op")
    new.add_argument("dir", nargs="?", help="where the project goes; default ./NAME")
    new.set_defaults(command=_new_op)
    ops = commands.add_parser("ops", help="list the operators, or describe one")
    ops.add_argument("type", nargs="?", help="for example conv2d")
    ops.set_defaults(command=_ops)
    return parser


def _number(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not least <= value < 2**31:
            raise argparse.ArgumentTypeError(f"must be {least} to {2**31 - 1}, got {value}")
        return value

    return number


def _versions() -> str:
    onednn = core.onednn_version()
    kernels = f"oneDNN {onednn}" if onednn else "without oneDNN"
    return f"fluidcore {__version__} ({kernels}, {core.cpu_isa()})"


def _demo(chosen: argparse.Namespace) -> int:
    from fluidcore import demo

    settings = demo.QUICK if chosen.quick else demo.FULL
    if chosen.epochs is not None:
        settings = settings._replace(epochs=chosen.epochs)
    try:
        demo.run(chosen.seed, settings, chosen.dir or demo.MODEL_FOLDER)
    except demo.DemoError as failure:
        print(f"\nfluidcore demo: {failure}", file=sys.stderr)
        return 1
    return 0


def _show(chosen: argparse.Namespace) -> int:
    if chosen.plan:
        from fluidcore.profiler.saved import plan_of_saved

        print(plan_of_saved(chosen.dir, chosen.batch), end="")
        return 0
    print(_saved_program(chosen.dir), end="")
    return 0


def _saved_program(path: str) -> Program:
    """The program in a folder of save_inference_model, or in a file."""
    from fluidcore.io import PROGRAM_FILE
    from fluidcore.program import Program

    if os.path.isdir(path):
        folder, path = path, os.path.join(path, PROGRAM_FILE)
        if not os.path.exists(path):
            raise core.NotFound(
                f"{folder}: must be a folder of save_inference_model, got one without "
                f"{PROGRAM_FILE}"
            )
    with open(path, "rb") as file:
        return Program.parse_from_string(file.read())


def _summary(chosen: argparse.Namespace) -> int:
    print(_saved_program(chosen.dir).summary(chosen.batch))
    return 0


def _memory(chosen: argparse.Namespace) -> int:
    print(_saved_program(chosen.dir).memory(chosen.batch))
    if os.path.isdir(chosen.dir):
        from fluidcore.profiler.saved import plan_of_saved

        in_all = plan_of_saved(chosen.dir, chosen.batch).splitlines()[-1]
        print(f"plan         {in_all}, where operators are put together")
    return 0


def _draw(chosen: argparse.Namespace) -> int:
    ending = os.path.splitext(chosen.file)[1]
    if ending not in (".html", ".svg", ".dot"):
        raise core.InvalidArgument(
            f"draw: the file must end in .html, .svg or .dot, got {chosen.file!r}"
        )
    program = _saved_program(chosen.dir)
    draw = {".html": program.to_html, ".svg": program.to_svg, ".dot": program.to_dot}[ending]
    draw(chosen.file)
    return 0


def _profile(chosen: argparse.Namespace) -> int:
    from fluidcore.executor import set_num_threads
    from fluidcore.profiler.saved import profile_saved

    if chosen.threads is not None:
        set_num_threads(chosen.threads)
    recorded = profile_saved(chosen.dir, chosen.batch, chosen.runs, chosen.trace)
    print(recorded.table(by_type=chosen.types))
    print(f"{1e3 * recorded.seconds / chosen.runs:.3g} ms in the operators of a run")
    return 0


def _convert(chosen: argparse.Namespace) -> int:
    from fluidcore.onnx.convert import convert

    try:
        convert(chosen.source, chosen.target)
    except ImportError as error:  # of the package onnx
        print(f"fluidcore: {error}", file=sys.stderr)
        return 1
    return 0


def _new_op(chosen: argparse.Namespace) -> int:
    from fluidcore.custom.new_project import new_op

    print(new_op(chosen.name, Path(chosen.dir or chosen.name)))
    return 0


def _ops(chosen: argparse.Namespace) -> int:
    if chosen.type is None:
        for op_type in core.op_types():
            if not op_type.endswith("_grad"):
                summary = textwrap.shorten(core.op_def(op_type).doc, 70, placeholder=" ...")
                print(f"{op_type:28} {summary}".rstrip())
        return 0
    definition = core.op_def(chosen.type)
    print(f"{definition.type}: {definition.doc}")
    for title, slots in (("reads", definition.inputs), ("writes", definition.outputs)):
        for slot in slots:
            kind = " (a list)" if slot.list else " (optional)" if slot.optional else ""
            passes = "; gradients do not pass" if slot.no_gradient else ""
            print(f"  {title:7} {slot.name}{kind}: {slot.doc}{passes}")
    for attr in definition.attrs:
        default = "must be given" if attr.required else f"default {attr.default!r}"
        print(f"  {'takes':7} {attr.name}: {attr.type}, {default}. {attr.doc}")
    dtypes = ", ".join(dict.fromkeys(dtype for _, dtype in definition.kernels))
    print(f"  {'for':7} {dtypes or 'any element type'}")
    print(f"  {'has':7} {'a gradient' if definition.has_grad else 'no gradient'}")
    return 0
