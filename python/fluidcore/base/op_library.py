"""Operators from a shared library."""

from __future__ import annotations

import os

from fluidcore import core
from fluidcore.base.definitions import definitions_changed


def add_op_library(path: str | os.PathLike[str]) -> core.Definition:
    """Adds the operators of a shared library; see fluidcore.load_op_library.

    Raises:
        core.NotFound: There is no such file.
        core.InvalidArgument: It cannot be loaded, was built against another version, or defines an
            operator that exists; then nothing is added.
    """
    definition = core.load_op_library(os.fspath(path))
    definitions_changed()
    return definition
