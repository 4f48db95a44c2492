"""Tensors in files, by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from fluidcore.base.checks import check_name
from fluidcore.eager.tensor import Tensor
from fluidcore.io.array_file import read_arrays, write_arrays

Path = str | os.PathLike[str]


def save(state_dict: Mapping[str, Any], path: Path) -> None:
    """Writes named tensors to a safetensors file, in the place of what was there at once.

    Args:
        state_dict: Of a module or an optimizer, or any mapping of names to Tensors or arrays.
        path: Of the file; its folder must be there.

    Raises:
        TypeError: It is no such mapping; or a name that is no str.
        core.InvalidArgument: An element type that fluidcore does not have.
        OSError: It cannot be written; what was there stays.
    """
    if isinstance(state_dict, (str, os.PathLike)) or not isinstance(state_dict, Mapping):
        raise TypeError(
            "save: the first argument must map names to tensors, as state_dict() does, got "
            f"{type(state_dict).__name__}"
        )
    arrays = {}
    for name, value in state_dict.items():
        check_name("save: a name", name)
        if not isinstance(value, (Tensor, np.ndarray)):
            raise TypeError(
                f"save: '{name}' must be a Tensor or an array, got {type(value).__name__}; a file "
                "holds tensors only"
            )
        arrays[name] = Tensor(value).array
    write_arrays(os.fspath(path), arrays, {})


def load(path: Path) -> dict[str, Tensor]:
    """Reads the tensors of a safetensors file: of `save`, of PyTorch, or of a program's parameters.

    Args:
        path: Of the file.

    Returns:
        Name -> a constant.

    Raises:
        core.NotFound: There is no such file.
        core.InvalidArgument: It is damaged, or has an element type that fluidcore does not have.
    """
    arrays, _ = read_arrays(os.fspath(path))
    return {name: Tensor(array) for name, array in arrays.items()}
