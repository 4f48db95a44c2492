"""A program and the values of what lives between its runs: program.json beside params.safetensors.

Saving is atomic: a crash leaves the old files or the new ones, never a mixture. Loading executes
nothing, and after an error the scope is as it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from fluidcore import core
from fluidcore.io.array_file import (
    NEW,
    make_folder,
    read_arrays,
    read_metadata,
    sync_folder,
    write_arrays,
    write_new,
)
from fluidcore.io.file_names import PARAMS_FILE, PROGRAM_FILE, Path
from fluidcore.io.persistables import checked, persistables, set_values, values
from fluidcore.program import Program, Variable


def write_program(
    dirname: Path,
    params_file: str,
    program: Program,
    feeds: Sequence[str],
    fetches: Sequence[str],
    metadata: Mapping[str, str],
) -> None:
    """Writes a program, what of it is fed and fetched, and the values of its persistable variables.

    Args:
        dirname: Folder; made if there is none.
        params_file: Name of the file of the values.
        program: What is saved.
        feeds: Names of variables.
        fetches: Likewise.
        metadata: More text about it.

    Raises:
        core.NotFound: A variable has no value in the global scope.
        OSError: A file cannot be written; what was there can still be loaded.
    """
    import json

    text = program.serialize_to_string().encode()
    named = {
        **metadata,
        "program_sha256": _sha256(text),
        "feed": json.dumps(list(feeds)),
        "fetch": json.dumps(list(fetches)),
    }
    arrays = values(persistables(program))
    # The parameters name their program, so moving them into place is what makes the new model the
    # model; a crash before leaves the old pair, a crash after leaves program.json.new to be found.
    folder = make_folder(dirname)
    _settle(folder, params_file)
    try:
        write_new(os.path.join(folder, PROGRAM_FILE), text)
        write_arrays(os.path.join(folder, params_file), arrays, named)
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


def read_program(
    who: str, dirname: Path, params_file: str
) -> tuple[Program, list[str], list[Variable], dict[str, str]]:
    """Reads what write_program wrote; the values go into the global scope.

    Args:
        who: Named in messages, "load_inference_model".
        dirname: Folder.
        params_file: Name of the file of the values.

    Returns:
        The program, the names to feed, the variables to fetch, and the text about it.

    Raises:
        core.NotFound: A file is missing, or operators of the program are not defined here.
        core.InvalidArgument: A file is damaged, or the two do not belong together.
    """
    path = os.path.join(os.fspath(dirname), params_file)
    arrays, metadata = read_arrays(path)
    feeds, fetches = (_name_list(who, dirname, metadata, key) for key in ("feed", "fetch"))
    text = _program_text(who, dirname, metadata.get("program_sha256", ""))
    program = Program.parse_from_string(text)
    _check_defined(who, program, dirname)
    block = program.global_block()
    for name in feeds:
        block.var(name)
    targets = [block.var(name) for name in fetches]
    set_values(checked(arrays, persistables(program), path))
    return program, feeds, targets, metadata


def _check_defined(who: str, program: Program, dirname: Path) -> None:
    used = {op.type for block in program.blocks for op in block.ops}
    unknown = sorted(used - set(core.op_types()))
    if unknown:
        raise core.NotFound(
            f"{who}: the operators of {os.fspath(dirname)} must be defined, got no "
            f"{', '.join(unknown)}; load their library first, load_op_library(), or define them"
        )


def _program_text(who: str, dirname: Path, sha256: str) -> bytes:
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
        raise core.NotFound(f"{who}: no file {path}")
    raise core.InvalidArgument(
        f"{who}: {PROGRAM_FILE} and {PARAMS_FILE} in {os.fspath(dirname)} must come "
        "from the same save, got files that do not belong together; save the model again"
    )


def _sha256(text: bytes) -> str:
    import hashlib

    return hashlib.sha256(text).hexdigest()


def _name_list(who: str, dirname: Path, metadata: dict[str, str], key: str) -> list[str]:
    import json

    try:
        names = json.loads(metadata.get(key, ""))
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise core.InvalidArgument(
            f"{who}: {PARAMS_FILE} in {os.fspath(dirname)} must name what to {key}, "
            f"got a file that does not; was it written by {who.replace('load', 'save')}?"
        )
    return names
