"""TensorProto -> array: no memory beyond what it has elements for, no file outside its folder."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.onnx.package import onnx_package
from fluidcore.onnx.reading.errors import Unsupported
from fluidcore.onnx.reading.values import Array

# TensorProto.DataType of elements that are stored as NumPy has them, and their names there
_STORED = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}
# of those the ones that a program can have
_ELEMENTS = {1, 5, 6, 7, 9, 10, 11, 16}


def element_type(number: int) -> str | None:
    """The fluidcore name of an ONNX element type; None if there is none."""
    return _STORED[number] if number in _ELEMENTS else None


def type_name(number: int) -> str:
    """The ONNX name of an element type, for messages."""
    names = onnx_package().TensorProto.DataType
    return str(names.Name(number)) if number in names.values() else f"number {number}"


def to_array(tensor: Any, folder: str | None, where: str) -> Array:
    """The elements of a TensorProto.

    Args:
        tensor: The TensorProto.
        folder: Where files of external data are; None if there is none.
        where: What errors begin with.

    Raises:
        Unsupported: The data are not those of the shape and element type, or are outside of the
            folder.
    """
    what = f"{where}: tensor '{tensor.name}'"
    dims = tuple(tensor.dims)
    if any(extent < 0 for extent in dims):
        raise Unsupported(f"{what}: all extents must be at least 0, got {list(dims)}")
    if tensor.HasField("segment"):
        raise Unsupported(f"{what}: must be stored in one piece, got a segment")
    name = _STORED.get(tensor.data_type)
    if name is None:
        return _unusual(tensor, what)
    dtype = _little(numpy_dtype(name))
    count = math.prod(dims)
    if tensor.data_location == tensor.EXTERNAL:
        return _external(tensor, dims, dtype, folder, what)
    if tensor.HasField("raw_data"):
        raw = tensor.raw_data
        if len(raw) != count * dtype.itemsize:
            raise Unsupported(
                f"{what}: a {name} {list(dims)} must have {count * dtype.itemsize} bytes, "
                f"got {len(raw)}"
            )
        return np.frombuffer(raw, dtype).reshape(dims)
    return _from_fields(tensor, dims, name, what)


def _little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder("<") if dtype.isbuiltin == 1 else dtype


_FIELDS = {"float32": "float_data", "float64": "double_data", "int64": "int64_data"} | {
    "uint32": "uint64_data",
    "uint64": "uint64_data",
}


def _from_fields(tensor: Any, dims: tuple[int, ...], name: str, what: str) -> Array:
    field = getattr(tensor, _FIELDS.get(name, "int32_data"))
    count = math.prod(dims)
    if len(field) != count:
        raise Unsupported(
            f"{what}: a {name} {list(dims)} must have {count} elements, got {len(field)}"
        )
    if name in ("float16", "bfloat16"):
        bits = np.fromiter(field, np.int64, count).astype(np.uint16)
        return bits.view(numpy_dtype(name)).reshape(dims)
    if name in _FIELDS:
        return np.array(field, numpy_dtype(name)).reshape(dims)
    return np.fromiter(field, np.int64, count).astype(numpy_dtype(name)).reshape(dims)


def _unusual(tensor: Any, what: str) -> Array:
    """Of an element type that only constants can have, 4-bit integers for example."""
    try:
        if tensor.data_location == tensor.EXTERNAL or tensor.data_type == tensor.STRING:
            raise ValueError(f"{type_name(tensor.data_type)} elements")
        array: Array = onnx_package().numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError) as error:
        raise Unsupported(f"{what}: its elements must be numbers, got {error}") from error
    return array


def _external(
    tensor: Any, dims: tuple[int, ...], dtype: np.dtype[Any], folder: str | None, what: str
) -> Array:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    path = external_path(location, folder, what)
    size = math.prod(dims) * dtype.itemsize
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", size))
        room = os.path.getsize(path) - offset
    except (ValueError, OSError) as error:
        raise Unsupported(f"{what}: must have data in '{location}', got {error}") from error
    if offset < 0 or length != size or room < size:
        raise Unsupported(
            f"{what}: a {dtype.name} {list(dims)} must have {size} bytes in '{location}', got "
            f"length {length} of {max(room, 0)} from offset {offset} on"
        )
    return np.fromfile(path, dtype, math.prod(dims), offset=offset).reshape(dims)


def external_path(location: str, folder: str | None, what: str) -> str:
    """The file of external data, which must be one inside the folder of the model."""
    if folder is None:
        raise Unsupported(f"{what}: must be in the model itself, got external data '{location}'")
    home = os.path.realpath(folder)
    path = "" if "\0" in location else os.path.realpath(os.path.join(home, location))
    is_inside = path.startswith(home.rstrip(os.sep) + os.sep)
    if os.path.isabs(location) or not is_inside or not os.path.isfile(path):
        raise Unsupported(
            f"{what}: external data must be a file in the folder of the model, got {location!r}"
        )
    return path
