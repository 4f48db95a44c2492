"""Variables of a program, saved to one file and loaded; the values of parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.executor import Executor
from fluidcore.io.array_file import make_folder, read_arrays, sync_folder, write_arrays
from fluidcore.io.file_names import Path, file_name_of
from fluidcore.io.persistables import checked, given_program, persistables, set_values, values
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
        core.InvalidArgument: The name of the file is none.
        OSError: The file cannot be written; what was there is as before.
    """
    del executor
    arrays = values(_chosen("save_vars", main_program, vars, predicate))
    name = file_name_of(save_file_name, filename)
    folder = make_folder(dirname)
    write_arrays(os.path.join(folder, name), arrays, {})
    sync_folder(folder)


def save_params(
    executor: Executor,
    dirname: Path,
    main_program: Program | None = None,
    save_file_name: str | None = None,
    *,
    filename: str | None = None,
) -> None:
    """`save_vars` of the parameters."""
    chosen = filter(is_parameter, persistables(main_program))
    save_vars(executor, dirname, main_program, chosen, None, save_file_name, filename=filename)


def save_persistables(
    executor: Executor,
    dirname: Path,
    main_program: Program | None = None,
    save_file_name: str | None = None,
    *,
    filename: str | None = None,
) -> None:
    """`save_vars` of all that lives between runs, the optimizer's state too."""
    chosen = persistables(main_program)
    save_vars(executor, dirname, main_program, chosen, None, save_file_name, filename=filename)


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
    path = os.path.join(os.fspath(dirname), file_name_of(load_file_name, filename))
    arrays, _ = read_arrays(path)
    set_values(checked(arrays, _chosen("load_vars", main_program, vars, predicate), path))


def load_params(
    executor: Executor,
    dirname: Path,
    main_program: Program | None = None,
    load_file_name: str | None = None,
    *,
    filename: str | None = None,
) -> None:
    """`load_vars` of the parameters."""
    chosen = filter(is_parameter, persistables(main_program))
    load_vars(executor, dirname, main_program, chosen, None, load_file_name, filename=filename)


def load_persistables(
    executor: Executor,
    dirname: Path,
    main_program: Program | None = None,
    load_file_name: str | None = None,
    *,
    filename: str | None = None,
) -> None:
    """`load_vars` of all that lives between runs."""
    chosen = persistables(main_program)
    load_vars(executor, dirname, main_program, chosen, None, load_file_name, filename=filename)


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
