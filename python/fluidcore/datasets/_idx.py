"""IDX files, the format of MNIST: http://yann.lecun.com/exdb/mnist describes it."""

from __future__ import annotations

import os
from math import prod
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.datasets._files import Path, open_file, read_up_to

# The third byte of a file -> its elements, the most significant byte first.
_DTYPES: dict[int, np.dtype[Any]] = {
    0x08: np.dtype("uint8"),
    0x09: np.dtype("int8"),
    0x0B: np.dtype(">i2"),
    0x0C: np.dtype(">i4"),
    0x0D: np.dtype(">f4"),
    0x0E: np.dtype(">f8"),
}
_MAX_RANK = 64  # NumPy's


def idx(path: Path) -> np.ndarray[Any, Any]:
    """The array of an IDX file, plain or gzip.

    Args:
        path: Such as "train-images-idx3-ubyte.gz".

    Returns:
        uint8, int8, int16, int32, float32 or float64, of the shape that the file says: MNIST's
        images are uint8 [60000, 28, 28], its labels uint8 [60000].

    Raises:
        core.NotFound: There is no such file.
        core.InvalidArgument: It is no IDX file, or shorter or longer than its header says.
    """
    name = os.fspath(path)
    with open_file("idx", path) as file:
        magic = bytes(read_up_to(file, 4))
        if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _DTYPES:
            raise core.InvalidArgument(
                f"idx: {name} must begin with two bytes 0, one of {[*_DTYPES]} for the element "
                f"type, and the number of dimensions, got {list(magic)}"
            )
        dtype, rank = _DTYPES[magic[2]], magic[3]
        if rank > _MAX_RANK:
            raise core.InvalidArgument(
                f"idx: {name} must have at most {_MAX_RANK} dimensions, got {rank}"
            )
        extents = bytes(read_up_to(file, 4 * rank))
        if len(extents) < 4 * rank:
            raise core.InvalidArgument(
                f"idx: {name} must have {4 * rank} bytes of extents behind its first 4, got "
                f"{len(extents)}; it is not whole"
            )
        shape = [int(extent) for extent in np.frombuffer(extents, ">u4")]
        count = prod(shape) * dtype.itemsize
        content = read_up_to(file, count)
        is_longer = bool(file.read(1))
    if len(content) < count or is_longer:
        got = "more" if is_longer else f"{len(content)}; it is not whole"
        raise core.InvalidArgument(
            f"idx: {name} must hold {count} bytes for {dtype.name} {shape}, got {got}"
        )
    array: np.ndarray[Any, Any] = np.frombuffer(content, dtype)
    return array.astype(dtype.newbyteorder("="), copy=False).reshape(shape)
