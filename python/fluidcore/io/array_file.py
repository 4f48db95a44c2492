"""Files that hold named arrays (safetensors), written so that a crash leaves whole files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype

NEW = ".new"  # written, but not in its place yet

Arrays = dict[str, np.ndarray[Any, Any]]

_SAFETENSORS = {
    "BOOL": "bool",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
}


def make_folder(dirname: str | os.PathLike[str]) -> str:
    """The folder, made if there is none."""
    os.makedirs(dirname, exist_ok=True)
    return os.fspath(dirname)


def write_new(path: str, content: bytes) -> None:
    """Writes `content` down to the disk as path.new, beside the file that it will replace.

    Raises:
        OSError: It cannot be written, for example because the disk is full; nothing is left of it.
    """
    with _removed_on_error(path), open(path + NEW, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_file(path: str, content: bytes) -> None:
    """Writes `content` in the place of the file at once.

    Raises:
        OSError: It cannot be written; the file is as it was, and nothing else is left.
    """
    write_new(path, content)
    with _removed_on_error(path):
        os.replace(path + NEW, path)


@contextlib.contextmanager
def _removed_on_error(path: str) -> Iterator[None]:
    """An error, or Ctrl-C, in the `with` block leaves no path.new."""
    try:
        yield
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.remove(path + NEW)
        if not isinstance(error, OSError):
            raise
        text = f"{error.strerror}; what was saved before is unchanged"
        raise OSError(error.errno, text, path) from None


def sync_folder(folder: str) -> None:
    """Writes the names of the files of a folder down to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_arrays(path: str, arrays: Arrays, metadata: dict[str, str]) -> None:
    """Writes arrays, and text about them, in the place of the file at once."""
    from safetensors.numpy import save

    write_file(path, save(arrays, metadata or None))


def read_metadata(path: str) -> dict[str, str]:
    """The text about the arrays of a file; nothing if there is no such file or it is damaged."""
    import json

    try:
        with open(path, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        return dict(header.get("__metadata__") or {})
    except (OSError, ValueError, AttributeError, OverflowError):
        return {}


def read_arrays(path: str) -> tuple[Arrays, dict[str, str]]:
    """The arrays and the metadata of a file; the format holds numbers and names only."""
    import json

    import safetensors

    if not os.path.isfile(path):
        raise core.NotFound(f"load: no file {path}")
    with open(path, "rb") as file:
        content = file.read()
    try:
        tensors = safetensors.deserialize(content)  # type: ignore[no-untyped-call]
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        arrays = {name: _array(tensor) for name, tensor in tensors}
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise core.InvalidArgument(
            f"load: {path} must be a whole safetensors file, got a damaged one: {error}"
        ) from None
    metadata = header.get("__metadata__") or {}
    return arrays, {str(key): str(value) for key, value in metadata.items()}


def _array(tensor: Any) -> np.ndarray[Any, Any]:
    name = _SAFETENSORS.get(tensor["dtype"])
    if name is None:
        raise ValueError(f"element type {tensor['dtype']} is unknown")
    return np.frombuffer(tensor["data"], numpy_dtype(name)).reshape(tensor["shape"])
