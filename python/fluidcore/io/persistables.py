"""The variables of a program that live between runs, with their values in the global scope."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fluidcore import core
from fluidcore.executor import global_scope
from fluidcore.io.array_file import Arrays
from fluidcore.program import Program, Variable, default_main_program


def given_program(program: Program | None) -> Program:
    """The program of an argument main_program; None is the default main program."""
    if program is None:
        return default_main_program()
    if not isinstance(program, Program):
        raise TypeError(f"main_program must be a Program, got {type(program).__name__}")
    return program


def persistables(program: Program | None) -> list[Variable]:
    """The variables that live between runs."""
    return [variable for variable in given_program(program).list_vars() if variable.persistable]


def values(variables: Iterable[Variable], what: str = "save") -> Arrays:
    """The values by name, of one moment; messages start with `what`.

    Raises:
        core.NotFound: One has no value.
    """
    names = [variable.name for variable in variables]
    arrays = {}
    for name, tensor in zip(names, global_scope().snapshot(names), strict=True):
        if not tensor.is_initialized():
            raise core.NotFound(
                f"{what}: variable '{name}' must have a value in the global scope, "
                "got none; run the startup program first"
            )
        arrays[name] = np.asarray(tensor)
    return arrays


def checked(arrays: Arrays, variables: Iterable[Variable], path: str) -> Arrays:
    """The arrays for the variables, of those in the file `path`.

    Raises:
        core.NotFound: There is none for a variable.
        core.InvalidArgument: Another shape or element type than the variable's.
    """
    found = {}
    for variable in variables:
        array = arrays.get(variable.name)
        if array is None:
            raise core.NotFound(f"load: no variable '{variable.name}' in {path}")
        if tuple(array.shape) != variable.shape or array.dtype.name != variable.dtype:
            raise core.InvalidArgument(
                f"load: '{variable.name}' must be {variable.dtype} {list(variable.shape)}, "
                f"got {array.dtype.name} {list(array.shape)} in {path}"
            )
        found[variable.name] = array
    return found


def set_values(arrays: Arrays, scope: core.Scope | None = None) -> None:
    """Puts them into a scope, None for the global one, by name."""
    scope = global_scope() if scope is None else scope
    for name, array in arrays.items():
        scope.var(name).get_tensor().set(array)
