"""NumPy's archives of arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.datasets._files import Path

_NUMBERS = "biufc"


def npz(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a .npz file, as np.savez and np.savez_compressed write it.

    All are read into memory, and nothing is executed: arrays of Python objects, which are pickles,
    are refused.

    Args:
        path: Of the file.

    Returns:
        Name -> array, in the order of the file.

    Raises:
        core.NotFound: There is no such file.
        core.InvalidArgument: It is no such file, or damaged, or holds something else than numbers.
    """
    import zipfile

    name = os.fspath(path)
    if not os.path.isfile(name):
        raise core.NotFound(f"npz: no file {name}")
    with open(name, "rb") as file:
        if not zipfile.is_zipfile(file):
            raise core.InvalidArgument(
                f"npz: {name} must be a .npz archive of arrays, got a file of another kind, or "
                "damaged"
            )
        file.seek(0)
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        key = None
        try:
            with np.load(file, allow_pickle=False) as archive:
                for key in archive.files:
                    arrays[key] = archive[key]
        except Exception as error:  # of a damaged file NumPy and zipfile raise any, TokenError too
            what = f"'{key}' of {name}" if key is not None else name
            raise core.InvalidArgument(
                f"npz: {what} must be a whole array of numbers, got what NumPy refuses: {error}"
            ) from None
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in _NUMBERS:
            got = array.dtype if isinstance(array, np.ndarray) else "a file that is no array"
            raise core.InvalidArgument(
                f"npz: '{key}' of {name} must be an array of numbers, got {got}"
            )
    return arrays
