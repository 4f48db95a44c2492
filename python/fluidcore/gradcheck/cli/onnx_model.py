"""`fluidcore gradcheck onnx`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.cli.program import add_program_options, check_read

if TYPE_CHECKING:
    from fluidcore.gradcheck.cli.options import Commands
    from fluidcore.gradcheck.target.target import Array

_EPILOG = """\
FILE is an ONNX model; the package onnx must be installed. What is fed is drawn at random as for
`fluidcore gradcheck program`; extents that the model leaves open are taken as 3.

examples:
  fluidcore gradcheck onnx resnet18.onnx --dims batch=1 --mode directional
  fluidcore gradcheck onnx model.onnx --loss scores --check conv1.weight --feed image=image.npy
"""


def add_onnx(commands: Commands) -> None:
    """Adds `onnx`."""
    parser = commands.add_parser(
        "onnx",
        help="check an ONNX model",
        epilog=_EPILOG,
        description="Checks the gradient of an ONNX model by its parameters.",
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--dims",
        action="append",
        default=[],
        metavar="SYMBOL=NUMBER",
        help="an extent that the model has a symbol for; may be repeated",
    )
    add_program_options(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    from fluidcore.onnx import load

    scope = core.Scope()
    dims = dict(map(_dim, chosen.dims))
    try:
        model = load(chosen.file, dims=dims, scope=scope)
    except ImportError as error:  # the package onnx; the message says how to get it
        raise core.NotFound(str(error)) from error
    names = scope.local_var_names()
    values: dict[str, Array] = {n: np.array(scope.find_var(n).get_tensor()) for n in names}
    return check_read(chosen, model.program, values, [each.name for each in model.fetches])


def _dim(text: str) -> tuple[str, int]:
    symbol, _, number = text.rpartition("=")
    if not symbol or not number.isdecimal():
        raise core.InvalidArgument(f"--dims must be SYMBOL=NUMBER, got {text!r}")
    return symbol, int(number)
