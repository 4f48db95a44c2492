"""Operators from a shared library."""

from __future__ import annotations

import os
from pathlib import Path

from fluidcore import core
from fluidcore.base.definitions import definitions_changed


def load_op_library(path: str | os.PathLike[str]) -> list[str]:
    """Adds the operators of a shared library that was built against this version of fluidcore.

    They are then like any other operator: `fluidcore.layers.mine`, `fluidcore.eager.mine`,
    programs, gradients, `fluidcore gradcheck op mine`. This runs code of the library, which stays
    loaded: load only what you trust.

    Args:
        path: Of the library, "build/libmine.so".

    Returns:
        The names of its operators, sorted.

    Raises:
        core.NotFound: There is no such file.
        core.InvalidArgument: It cannot be loaded, was built against another version, or defines an
            operator that exists; then nothing is added.
    """
    names = core.load_op_library(str(Path(path)))
    definitions_changed()
    return names
