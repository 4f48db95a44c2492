"""Saved models from one form into the other: a folder of save_inference_model, or an ONNX file."""

from __future__ import annotations

import os

from fluidcore import core
from fluidcore.executor import Executor, scope_guard
from fluidcore.io import load_inference_model, save_inference_model
from fluidcore.onnx.reading import load
from fluidcore.onnx.writing import save

ENDING = ".onnx"


def convert(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Writes a saved model in the other form; which one it is, the name ending in .onnx says.

    The scope of the user stays as it is.

    Args:
        source: A folder of save_inference_model, or an ONNX file.
        target: An ONNX file, or a folder.

    Raises:
        ImportError: The package onnx is not installed.
        core.InvalidArgument: Not one of the two names ends in .onnx, or something in the model has
            no equal in the other form.
        core.NotFound: There is no such model.
        OSError: A file cannot be read or written.
    """
    forms = [os.fspath(path).endswith(ENDING) for path in (source, target)]
    if forms[0] == forms[1]:
        raise core.InvalidArgument(
            f"convert: one of the two must be a file that ends in {ENDING}, and the other one a "
            f"folder of save_inference_model, got {os.fspath(source)} and {os.fspath(target)}"
        )
    with scope_guard(core.Scope()):
        if forms[1]:
            program, feeds, fetches = load_inference_model(source, Executor())
            save(program, feeds, fetches, target)
        else:
            model = load(source)
            save_inference_model(target, model.feeds, model.fetches, Executor(), model.program)
