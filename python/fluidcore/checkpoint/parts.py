"""Optimizer state of which each rank has a part: files hold the whole of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidcore.base.dtypes import dtype_number
from fluidcore.executor import Executor
from fluidcore.program import Program
from fluidcore.program.collective import parts_of


def joined(
    arrays: dict[str, NDArray[Any]], program: Program, executor: Executor
) -> dict[str, NDArray[Any]]:
    """The arrays with what all ranks have of each part, one after the other; all ranks call it."""
    result = dict(arrays)
    communicator = executor.communicator
    if communicator is None:
        return result
    for name, total in parts_of(program.serialize_to_string()).items():
        own = arrays[name]
        gathering = Program()
        block = gathering.global_block()
        part = block.create_var("part", shape=list(own.shape), dtype=str(own.dtype))
        shape = {"shape": [total], "dtype": dtype_number(str(own.dtype)), "value": 0.0}
        whole = block.append_single("fill_constant", {}, shape, key="whole")
        block.append_op(
            "c_allgather", {"X": part, "Like": whole}, {"Out": whole}, {"ranks": communicator.size}
        )
        (result[name],) = executor.run(gathering, {"part": own}, [whole])
    return result


def cut(
    arrays: dict[str, NDArray[Any]], program: Program, executor: Executor
) -> dict[str, NDArray[Any]]:
    """The arrays with this rank's part of those that are joined."""
    result = dict(arrays)
    communicator = executor.communicator
    rank, size = (0, 1) if communicator is None else (communicator.rank, communicator.size)
    for name, total in parts_of(program.serialize_to_string()).items():
        whole = arrays.get(name)
        if whole is None or whole.shape != (total,):
            continue  # what reads the file says so
        length = -(-total // size)
        part = np.zeros(length, whole.dtype)
        own = whole[rank * length : (rank + 1) * length]
        part[: own.size] = own
        result[name] = part
    return result
