"""The command `fluidcore gradcheck`, also `python -m fluidcore.gradcheck`."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence

from fluidcore import core
from fluidcore.base.checks import did_you_mean
from fluidcore.gradcheck.cli import options
from fluidcore.gradcheck.cli.callable_ import add_callable
from fluidcore.gradcheck.cli.onnx_model import add_onnx
from fluidcore.gradcheck.cli.op import add_all, add_op
from fluidcore.gradcheck.cli.program import Ranks, add_program
from fluidcore.gradcheck.cli.saved import add_compare, add_explain

_DESCRIPTION = "Checks gradients against numerical differentiation."
_EPILOG = """\
exit codes: 0 everything passed; 1 a gradient is wrong; 2 something could not be decided;
3 wrong arguments, or an error

examples:
  fluidcore gradcheck op conv2d --dtype float32
  fluidcore gradcheck all --report all.html
  fluidcore gradcheck program model/ --loss cost
  fluidcore gradcheck COMMAND --help
"""
_SUBCOMMANDS = (add_op, add_all, add_program, add_onnx, add_callable, add_compare, add_explain)


def main(
    arguments: Sequence[str] | None = None,
    prog: str = "fluidcore gradcheck",
    ranks: Callable[[], Ranks] | None = None,
) -> int:
    """Runs the command; returns the exit code, or exits with 3 for wrong arguments.

    Args:
        arguments: Those after `prog`; None for those of the process.
        prog: What the user has called.
        ranks: Gives the processes that run programs with collective operators; None: nobody does.
    """
    parser = options.Parser(prog=prog, description=_DESCRIPTION, epilog=_EPILOG)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=options.Parser)
    for add in _SUBCOMMANDS:
        add(commands)
    chosen = parser.parse_args(arguments)
    chosen.ranks = ranks
    chosen.arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return int(chosen.run(chosen))
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return options.MISUSED
    except KeyboardInterrupt:
        print(f"\n{prog}: interrupted", file=sys.stderr)
        return 130
    except SystemExit as stopped:  # must not look like a verdict
        print(f"{prog}: what was to be checked has exited with {stopped.code}", file=sys.stderr)
        return options.MISUSED
    except (core.Error, OSError) as error:
        print(f"{prog}: {_said(error)}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(f"  {note}", file=sys.stderr)
        return options.MISUSED
    except Exception:  # a fault of the checker or of the user's function: not a wrong gradient
        traceback.print_exc()
        return options.MISUSED


def _said(error: Exception) -> str:
    """The message of an error; that of a missing file with the name of one like it."""
    if not isinstance(error, FileNotFoundError) or not isinstance(error.filename, str):
        return str(error)
    folder, name = os.path.split(error.filename)
    there = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    near = [os.path.join(folder, each) for each in there]
    return f"there is no file {error.filename!r}{did_you_mean(os.path.join(folder, name), near)}"
