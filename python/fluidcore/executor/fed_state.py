"""Fed variables that live between runs and that the program writes: they are set, not fed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from fluidcore import core


def is_state(program: core.ProgramDesc, variable: core.VarDesc) -> bool:
    """Whether a variable of the outermost block lives between runs and an operator writes it."""
    name = variable.name()
    if not variable.persistable():
        return False
    blocks = map(program.block, range(program.num_blocks()))
    return any(name in op.output_arg_names() for block in blocks for op in block.ops())


@contextmanager
def set_in_scope(scope: core.Scope, states: Mapping[str, Any]) -> Iterator[None]:
    """Variables of the scope have other values from now on; after an error those before.

    Args:
        scope: Where they live, here or above; what is missing is made here.
        states: Name -> array or Tensor.
    """
    names = list(states)
    is_known = [scope.find_var(name) is not None for name in names]
    before = scope.snapshot(names)
    try:
        for name, value in states.items():
            (scope.find_var(name) or scope.var(name)).get_tensor().set(np.asarray(value))
        yield
    except BaseException:
        for name, known, tensor in zip(names, is_known, before, strict=True):
            if not known or not tensor.is_initialized():
                scope.erase([name])
            else:
                found = scope.find_var(name) or scope.var(name)
                found.get_tensor().set(np.asarray(tensor))
        raise
