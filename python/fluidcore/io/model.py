"""Saving and loading: program.json beside params.safetensors.

Saving is atomic: a crash leaves the old files or the new ones, never a mixture. Loading executes
nothing, and after an error the scope is as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from fluidcore import core
from fluidcore.executor import Executor
from fluidcore.io.array_file import (
    NEW,
    make_folder,
    read_arrays,
    read_metadata,
    sync_folder,
    write_arrays,
    write_new,
)
from fluidcore.io.persistables import checked, given_program, persistables, set_values, values
from fluidcore.program import Parameter, Program, Variable
from fluidcore.program.arguments import variable_names

PROGRAM_FILE = "program.json"
PARAMS_FILE = "params.safetensors"

Path = str | os.PathLike[str]


def save_params(executor: Executor, dirname: Path, main_program: Program | None = None) -> None:
    """Writes the parameters to params.safetensors.

    Args:
        executor: Accepted for Fluid's sake.
        dirname: Folder; made if there is none.
        main_program: Whose parameters; None for the default main program.

    Raises:
        core.NotFound: A parameter has no value in the global scope.
    """
    del executor
    _save(dirname, [v for v in persistables(main_program) if isinstance(v, Parameter)])


def save_persistables(
    executor: Executor, dirname: Path, main_program: Program | None = None
) -> None:
    """Writes all that lives between runs, the optimizer's state too; otherwise as save_params."""
    del executor
    _save(dirname, persistables(main_program))


def load_params(executor: Executor, dirname: Path, main_program: Program | None = None) -> None:
    """Reads what save_params or save_persistables wrote into the global scope.

    Args:
        executor: Accepted for Fluid's sake.
        dirname: Folder.
        main_program: Whose parameters; None for the default main program.

    Raises:
        core.NotFound: There is no such file, or it lacks a parameter.
        core.InvalidArgument: The file is damaged, or a shape or element type differs.
    """
    del executor
    _load(dirname, [v for v in persistables(main_program) if isinstance(v, Parameter)])


def load_persistables(
    executor: Executor, dirname: Path, main_program: Program | None = None
) -> None:
    """Reads all that lives between runs; otherwise as load_params."""
    del executor
    _load(dirname, persistables(main_program))


def save_inference_model(
    dirname: Path,
    feeded_var_names: Sequence[Variable | str],
    target_vars: Sequence[Variable | str],
    executor: Executor,
    main_program: Program | None = None,
) -> None:
    """Writes the part of a program that calculates `target_vars`, and its parameters.

    Args:
        dirname: Folder; made if there is none.
        feeded_var_names: Variables, or their names, that will be fed.
        target_vars: Variables, or their names, that will be fetched.
        executor: Accepted for Fluid's sake.
        main_program: None for the default main program.

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
    import json

    text = pruned.serialize_to_string().encode()
    metadata = {
        "format": "fluidcore inference model",
        "program_sha256": _sha256(text),
        "feed": json.dumps(feeds),
        "fetch": json.dumps(fetches),
    }
    arrays = values(persistables(pruned))
    # The parameters name their program, so moving them into place is what makes the new model the
    # model; a crash before leaves the old pair, a crash after leaves program.json.new to be found.
    folder = make_folder(dirname)
    _settle(folder)
    try:
        write_new(os.path.join(folder, PROGRAM_FILE), text)
        write_arrays(os.path.join(folder, PARAMS_FILE), arrays, metadata)
    finally:
        _settle(folder)
    sync_folder(folder)


def _settle(folder: str) -> None:
    """Moves a program.json.new into its place if the parameters name it, else removes it."""
    program_file = os.path.join(folder, PROGRAM_FILE)
    new = program_file + NEW
    if not os.path.exists(new):
        return
    named = read_metadata(os.path.join(folder, PARAMS_FILE)).get("program_sha256")
    with open(new, "rb") as file:
        is_named = _sha256(file.read()) == named
    if is_named:
        os.replace(new, program_file)
    else:
        os.remove(new)


def load_inference_model(
    dirname: Path, executor: Executor
) -> tuple[Program, list[str], list[Variable]]:
    """Reads what save_inference_model wrote; the parameters go into the global scope.

    Args:
        dirname: Folder.
        executor: Accepted for Fluid's sake.

    Returns:
        The program, the names to feed, and the variables to fetch.

    Raises:
        core.NotFound: A file is missing.
        core.InvalidArgument: A file is damaged, or the two do not belong together.
    """
    del executor
    path = os.path.join(os.fspath(dirname), PARAMS_FILE)
    arrays, metadata = read_arrays(path)
    feeds, fetches = (_name_list(dirname, metadata, key) for key in ("feed", "fetch"))
    text = _program_text(dirname, metadata.get("program_sha256", ""))
    program = Program.parse_from_string(text)
    block = program.global_block()
    for name in feeds:
        block.var(name)
    targets = [block.var(name) for name in fetches]
    set_values(checked(arrays, persistables(program), path))
    return program, feeds, targets


def _program_text(dirname: Path, sha256: str) -> bytes:
    path = os.path.join(os.fspath(dirname), PROGRAM_FILE)
    found = False
    for candidate in (path, path + NEW):
        if not os.path.exists(candidate):
            continue
        found = True
        with open(candidate, "rb") as file:
            text = file.read()
        if _sha256(text) == sha256:
            return text
    if not found:
        raise core.NotFound(f"load_inference_model: no file {path}")
    raise core.InvalidArgument(
        f"load_inference_model: {PROGRAM_FILE} and {PARAMS_FILE} in {os.fspath(dirname)} must come "
        "from the same save, got files that do not belong together; save the model again"
    )


def _sha256(text: bytes) -> str:
    import hashlib

    return hashlib.sha256(text).hexdigest()


def _name_list(dirname: Path, metadata: dict[str, str], key: str) -> list[str]:
    import json

    try:
        names = json.loads(metadata.get(key, ""))
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise core.InvalidArgument(
            f"load_inference_model: {PARAMS_FILE} in {os.fspath(dirname)} must name what to {key}, "
            "got a file that does not; was it written by save_inference_model?"
        )
    return names


def _save(dirname: Path, variables: Iterable[Variable]) -> None:
    arrays = values(variables)
    folder = make_folder(dirname)
    write_arrays(os.path.join(folder, PARAMS_FILE), arrays, {})
    sync_folder(folder)


def _load(dirname: Path, variables: Iterable[Variable]) -> None:
    path = os.path.join(os.fspath(dirname), PARAMS_FILE)
    arrays, _ = read_arrays(path)
    set_values(checked(arrays, variables, path))
