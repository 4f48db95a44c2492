"""What the files of a saved model are called."""

from __future__ import annotations

import os

from fluidcore import core
from fluidcore.base.checks import check_name

PROGRAM_FILE = "program.json"
PARAMS_FILE = "params.safetensors"
Path = str | os.PathLike[str]


def file_name_of(given: str | None, later: str | None) -> str:
    """The name of a file of parameters in its folder.

    Args:
        given: What the user chose; None for `later`.
        later: The same under the argument's name in later versions of Fluid; None for
            params.safetensors.

    Raises:
        core.InvalidArgument: It is no name of a file.
    """
    if given is None:
        given = later
    if given is None:
        return PARAMS_FILE
    name = check_name("the name of a file", given)
    if name in ("", ".", "..", PROGRAM_FILE) or os.path.basename(name) != name:
        raise core.InvalidArgument(
            f"the name of a file must be one without a folder, other than {PROGRAM_FILE}, "
            f"got {name!r}"
        )
    return name
