"""The package `onnx`, imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def onnx_package() -> Any:
    """The module `onnx`.

    Raises:
        ImportError: It is not installed; the message says how to install it.
    """
    try:
        return import_module("onnx")
    except ImportError as error:
        raise ImportError(
            "fluidcore.onnx: the package onnx must be installed, got none; run "
            "pip install 'fluidcore-dl[onnx]'"
        ) from error
