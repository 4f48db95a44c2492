"""Inference models saved and loaded."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.executor import Executor
from fluidcore.io.file_names import Path, file_name_of
from fluidcore.io.persistables import given_program
from fluidcore.io.saved_program import read_program, write_program
from fluidcore.program import Program, Variable
from fluidcore.program.arguments import variable_names


def save_inference_model(
    dirname: Path,
    feeded_var_names: Sequence[Variable | str],
    target_vars: Sequence[Variable | str],
    executor: Executor,
    main_program: Program | None = None,
    save_file_name: str | None = None,
    *,
    params_filename: str | None = None,
) -> None:
    """Writes the part of a program that calculates `target_vars`, and its parameters.

    Args:
        dirname: Folder; made if there is none.
        feeded_var_names: Variables, or their names, that will be fed.
        target_vars: Variables, or their names, that will be fetched.
        executor: Accepted for Fluid's sake.
        main_program: None for the default main program.
        save_file_name: Name of the file of the parameters; None for params.safetensors.
        params_filename: save_file_name as later versions of Fluid call it.

    Raises:
        core.NotFound: A variable does not exist, or a parameter has no value in the global scope.
        core.InvalidArgument: The targets need data that is not fed.
        OSError: A file cannot be written; the model that was there can still be loaded.
    """
    del executor
    program = given_program(main_program)
    feeds = variable_names("save_inference_model: feeded_var_names", feeded_var_names, program)
    fetches = variable_names("save_inference_model: target_vars", target_vars, program)
    if not fetches:
        raise core.InvalidArgument("save_inference_model: there must be a target to calculate")
    pruned = program.clone(for_test=True).prune(fetches, feeds)
    block = pruned.global_block()
    for name in feeds:
        block.var(name)
    unfed = [v.name for v in block.vars.values() if v.desc.is_data() and v.name not in feeds]
    if unfed:
        raise core.InvalidArgument(
            f"save_inference_model: the targets must need only what is fed, {feeds}; "
            f"got targets that need {unfed} too"
        )
    params_file = file_name_of(save_file_name, params_filename)
    write_program(
        dirname, params_file, pruned, feeds, fetches, {"format": "fluidcore inference model"}
    )


def load_inference_model(
    dirname: Path,
    executor: Executor,
    load_file_name: str | None = None,
    *,
    params_filename: str | None = None,
) -> tuple[Program, list[str], list[Variable]]:
    """Reads what save_inference_model wrote; the parameters go into the global scope.

    Args:
        dirname: Folder.
        executor: Accepted for Fluid's sake.
        load_file_name: Name of the file of the parameters; None for params.safetensors.
        params_filename: load_file_name as later versions of Fluid call it.

    Returns:
        The program, the names to feed, and the variables to fetch.

    Raises:
        core.NotFound: A file is missing, or operators of the program are not defined here.
        core.InvalidArgument: A file is damaged, or the two do not belong together.
    """
    del executor
    params_file = file_name_of(load_file_name, params_filename)
    program, feeds, targets, _ = read_program("load_inference_model", dirname, params_file)
    return program, feeds, targets
