"""`fluidcore gradcheck callable`."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from fluidcore import core
from fluidcore.base.checks import did_you_mean
from fluidcore.gradcheck.cli import options
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.report.result import GradCheckReport

if TYPE_CHECKING:
    from fluidcore.gradcheck.cli.options import Commands

_EPILOG = """\
MODULE:FUNCTION names a function without arguments, found as by `import` in the current folder. It
returns what to check, one of
  (f, args)        f(*args) is differentiated by the framework of args (PyTorch, JAX)
  (f, args, vjp)   vjp(*args, *cotangents) returns the gradient by each of args
  a GradCheckReport of a check that it has made itself

example, in my_ops.py:
  def square_case():
      x = np.random.default_rng(0).standard_normal(5)
      return np.square, (x,), lambda x, v: (2 * x * v,)

  fluidcore gradcheck callable my_ops:square_case --report square.html
"""


def add_callable(commands: Commands) -> None:
    """Adds `callable`."""
    parser = commands.add_parser(
        "callable",
        help="check a Python function",
        epilog=_EPILOG,
        description="Checks the gradient of a Python function on NumPy, PyTorch or JAX arrays.",
    )
    parser.add_argument("function", metavar="MODULE:FUNCTION")
    options.add_check_options(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from fluidcore.gradcheck.cli import progress_table

    config = options.config_of(chosen)
    start = time.perf_counter()
    report = _checked(chosen.function, _called(chosen.function), config)
    dtypes = ",".join(dict.fromkeys(result.dtype for result in report.results))
    return progress_table.conclude_one(chosen, "function", report, start, report.who, dtypes)


def _imported(text: str) -> Any:
    module_name, colon, path = text.partition(":")
    if not (module_name and colon and path):
        raise core.InvalidArgument(
            f"gradcheck callable: the function must be MODULE:FUNCTION, got {text!r}"
        )
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    if os.sep in module_name or module_name.endswith(".py"):
        name = os.path.splitext(os.path.basename(module_name))[0]
        raise core.InvalidArgument(
            f"gradcheck callable: the module must be named as by `import`, got {module_name!r}; "
            f"write {name}:{path}, in its folder"
        )
    found: Any = None
    try:
        found = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        near = did_you_mean(path.rpartition(".")[2], dir(found) if found is not None else [])
        raise core.NotFound(
            f"gradcheck callable: {text!r} must be there, got: {error}{near}"
        ) from error
    if not callable(found):
        raise core.InvalidArgument(
            f"gradcheck callable: {text!r} must be a function, got {found!r}"
        )
    return found


def _called(text: str) -> Any:
    function = _imported(text)
    try:
        inspect.signature(function).bind()
    except ValueError:  # it has no signature
        pass
    except TypeError as error:
        raise core.InvalidArgument(
            f"gradcheck callable: {text!r} must be a function without arguments that returns "
            f"(f, args) or (f, args, vjp), got one that needs some: {error}"
        ) from None
    return function()


def _checked(text: str, case: Any, config: GradCheckConfig) -> GradCheckReport:
    from fluidcore.gradcheck.api import function_report

    if isinstance(case, GradCheckReport):
        return case
    if not (isinstance(case, tuple) and len(case) in (2, 3) and callable(case[0])):
        raise core.InvalidArgument(
            f"gradcheck callable: {text!r} must return (f, args), (f, args, vjp) or a "
            f"GradCheckReport, got {type(case).__name__}"
        )
    f, args, vjp = (*case, None)[:3]
    if not (vjp is None or callable(vjp)):
        raise core.InvalidArgument(
            f"gradcheck callable: {text!r} must return (f, args, vjp) with a function as its vjp, "
            f"got {type(vjp).__name__}"
        )
    args = args if isinstance(args, (tuple, list)) else (args,)
    return function_report(f, args, config, vjp=vjp)
