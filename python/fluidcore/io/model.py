"""Models saved and loaded: program.json beside params.safetensors.

Saving is atomic: a crash leaves the old files or the new ones, never a mixture. Loading executes
nothing, and after an error the scope is as it was.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

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
from fluidcore.io.file_names import PARAMS_FILE, PROGRAM_FILE, Path, file_name_of
from fluidcore.io.persistables import checked, given_program, persistables, set_values, values
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
    params_file = file_name_of(save_file_name, params_filename)
    folder = make_folder(dirname)
    _settle(folder, params_file)
    try:
        write_new(os.path.join(folder, PROGRAM_FILE), text)
        write_arrays(os.path.join(folder, params_file), arrays, metadata)
    finally:
        _settle(folder, params_file)
    sync_folder(folder)


def _settle(folder: str, params_file: str) -> None:
    """Moves a program.json.new into its place if the parameters name it, else removes it."""
    program_file = os.path.join(folder, PROGRAM_FILE)
    new = program_file + NEW
    if not os.path.exists(new):
        return
    named = read_metadata(os.path.join(folder, params_file)).get("program_sha256")
    with open(new, "rb") as file:
        is_named = _sha256(file.read()) == named
    if is_named:
        os.replace(new, program_file)
    else:
        os.remove(new)


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
    path = os.path.join(os.fspath(dirname), params_file)
    arrays, metadata = read_arrays(path)
    feeds, fetches = (_name_list(dirname, metadata, key) for key in ("feed", "fetch"))
    text = _program_text(dirname, metadata.get("program_sha256", ""))
    program = Program.parse_from_string(text)
    _check_defined(program, dirname)
    block = program.global_block()
    for name in feeds:
        block.var(name)
    targets = [block.var(name) for name in fetches]
    set_values(checked(arrays, persistables(program), path))
    return program, feeds, targets


def _check_defined(program: Program, dirname: Path) -> None:
    used = {op.type for block in program.blocks for op in block.ops}
    unknown = sorted(used - set(core.op_types()))
    if unknown:
        raise core.NotFound(
            f"load_inference_model: the operators of {os.fspath(dirname)} must be defined, got no "
            f"{', '.join(unknown)}; load their library first, load_op_library(), or define them"
        )


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
