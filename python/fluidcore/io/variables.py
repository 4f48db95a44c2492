"""Variables of a program, saved and loaded by choice; the values of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.executor import Executor
from fluidcore.io.model import Path, load_values, save_values
from fluidcore.io.persistables import given_program, values
from fluidcore.program import Parameter, Program, Variable
from fluidcore.program.arguments import variable_names

Predicate = Callable[[Variable], bool]


def is_parameter(var: Variable) -> bool:
    """Whether a variable is a parameter."""
    return isinstance(var, Parameter)


def is_persistable(var: Variable) -> bool:
    """Whether a variable lives between runs."""
    return var.persistable


def save_vars(
    executor: Executor,
    dirname: Path,
    main_program: Program | None = None,
    vars: Iterable[Variable | str] | None = None,
    predicate: Predicate | None = None,
    save_file_name: str | None = None,
    *,
    filename: str | None = None,
) -> None:
    """Writes variables to one file of a folder, in the place of what it held.

    Args:
        executor: Accepted for Fluid's sake.
        dirname: Folder; made if there is none.
        main_program: Whose variables; None for the default main program.
        vars: Variables, or names; None for those that `predicate` chooses.
        predicate: `is_parameter`, `is_persistable`, or another function of a Variable.
        save_file_name: Name of the file; None for params.safetensors.
        filename: save_file_name as later versions of Fluid call it.

    Raises:
        TypeError: Neither `vars` nor `predicate` is given.
        core.NotFound: A variable does not exist, or has no value in the global scope.
    """
    del executor
    save_values(
        dirname,
        _chosen("save_vars", main_program, vars, predicate),
        filename if save_file_name is None else save_file_name,
    )


def load_vars(
    executor: Executor,
    dirname: Path,
    main_program: Program | None = None,
    vars: Iterable[Variable | str] | None = None,
    predicate: Predicate | None = None,
    load_file_name: str | None = None,
    *,
    filename: str | None = None,
) -> None:
    """Reads variables of what save_vars, save_params or save_persistables wrote.

    The arguments are those of save_vars.

    Raises:
        TypeError: Neither `vars` nor `predicate` is given.
        core.NotFound: There is no such file, or it lacks a variable.
        core.InvalidArgument: The file is damaged, or a shape or element type differs.
    """
    del executor
    load_values(
        dirname,
        _chosen("load_vars", main_program, vars, predicate),
        filename if load_file_name is None else load_file_name,
    )


def _chosen(
    what: str,
    program: Program | None,
    variables: Iterable[Variable | str] | None,
    predicate: Predicate | None,
) -> list[Variable]:
    program = given_program(program)
    if variables is not None:
        names = variable_names(f"{what}: vars", variables, program)
        return [program.global_block().var(name) for name in names]
    if not callable(predicate):
        raise TypeError(f"{what}: predicate must be a function of a Variable, got {predicate!r}")
    return [variable for variable in program.list_vars() if predicate(variable)]


def get_parameter_value(para: Parameter, executor: Executor) -> np.ndarray[Any, Any]:
    """The value of a parameter in the global scope.

    Args:
        para: The parameter.
        executor: Accepted for Fluid's sake.

    Raises:
        TypeError: It is no parameter.
        core.NotFound: It has no value.
    """
    del executor
    if not is_parameter(para):
        raise TypeError(f"get_parameter_value: para must be a Parameter, got {para!r}")
    return values([para], "get_parameter_value")[para.name]


def get_parameter_value_by_name(
    name: str, executor: Executor, program: Program | None = None
) -> np.ndarray[Any, Any]:
    """The value of the parameter of this name; otherwise as get_parameter_value.

    Args:
        name: Of the parameter.
        executor: Accepted for Fluid's sake.
        program: None for the default main program.

    Raises:
        core.NotFound: The program has no such variable.
    """
    variable = given_program(program).global_block().var(name)
    if not isinstance(variable, Parameter):
        raise core.InvalidArgument(
            f"get_parameter_value_by_name: '{name}' must be a parameter, got {variable!r}"
        )
    return get_parameter_value(variable, executor)
