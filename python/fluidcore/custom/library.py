"""Operators from a shared library."""

from __future__ import annotations

import os
import sys

from fluidcore.base.definitions import definitions_changed
from fluidcore.base.op_library import add_op_library
from fluidcore.custom.check import check_examples


def load_op_library(path: str | os.PathLike[str], check: bool | None = None) -> list[str]:
    """Adds the operators of a shared library that was built against this version of fluidcore.

    They are then like any other operator: `fluidcore.layers.mine`, `fluidcore.eager.mine`,
    programs, gradients, `fluidcore gradcheck op mine`. This runs code of the library, which stays
    loaded: load only what you trust.

    Args:
        path: Of the library, "build/libmine.so".
        check: Whether the gradients of its operators are checked now, of those that map elements,
            for which examples are made; None: where pytest runs.

    Returns:
        The names of its operators, sorted.

    Raises:
        core.NotFound: There is no such file.
        core.InvalidArgument: It cannot be loaded, was built against another version, or defines an
            operator that exists; then nothing is added.
        GradientError: A gradient is wrong; then nothing is added.
    """
    definition = add_op_library(path)
    try:
        if "pytest" in sys.modules if check is None else check:
            check_examples(definition.types)
    except BaseException:
        definition.take_back()
        definitions_changed()
        raise
    return list(definition.types)
