"""Element types: the many ways to write one, and its one name."""

from __future__ import annotations

import functools
from typing import Any, TypeAlias, cast

import numpy as np

from fluidcore import core

DTypeLike: TypeAlias = "str | int | np.dtype[Any] | type[Any]"

NAMES = ("bool", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16")
FLOATING = frozenset({"float16", "float32", "float64", "bfloat16"})
HALF = frozenset({"float16", "bfloat16"})  # storage of 16 bits; calculated in float32
DEFAULT_FLOATING = "float32"  # where nothing says which

# What NumPy and Python call by another name, the same on every platform.
ALIASES = {
    "float": "float64",
    "double": "float64",
    "single": "float32",
    "half": "float16",
    "int": "int64",
    "long": "int64",
    "short": "int16",
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
}

_KNOWN = frozenset(NAMES)
_numpy_dtypes: dict[str, np.dtype[Any]] = {}


def dtype_name(dtype: DTypeLike) -> str:
    """The name of an element type.

    Args:
        dtype: A name ("float32") or one of `ALIASES`; Python's float, int or bool; a dtype or
            scalar type of NumPy; a dtype of another framework that is called the same
            (torch.float32), or its name; or Fluid's number (5). float is float64 and int is int64,
            as in NumPy.

    Returns:
        One of `NAMES`.

    Raises:
        core.InvalidArgument: fluidcore has no such element type.
    """
    if isinstance(dtype, str):
        name = ALIASES.get(dtype, dtype)
        if name in _KNOWN:
            return name
    if isinstance(dtype, (int, np.integer)) and not isinstance(dtype, bool):
        return core.dtype_name(int(dtype))
    if dtype is None:  # for NumPy it would be float64
        raise core.InvalidArgument(f"dtype must be one of {', '.join(NAMES)}, got None")
    try:
        name = str(np.dtype(cast("Any", dtype)).name)
    except TypeError:
        name = str(dtype).rpartition(".")[2]  # torch.float32
    if name not in _KNOWN:
        raise core.InvalidArgument(f"dtype must be one of {', '.join(NAMES)}, got {dtype!r}")
    return name


def quotient_dtype(dtype: str, other: str | None) -> str:
    """The element type in which `x / y` takes an operand.

    Whole numbers are divided in the floating type of the other operand, if it has one, else in
    float32: what comes out can be combined with parameters, which types are never mixed with.

    Args:
        dtype: Of the operand.
        other: Of the other one; None for a number of Python.
    """
    if dtype in FLOATING:
        return dtype
    return other if other in FLOATING else DEFAULT_FLOATING


@functools.cache
def name_of(dtype: np.dtype[Any]) -> str:
    """The name of a dtype of NumPy, which makes it anew each time."""
    return dtype.name


def dtype_number(dtype: DTypeLike) -> int:
    """Fluid's number of an element type, as the `dtype` attributes hold it: 5 for float32."""
    return core.dtype_number(dtype_name(dtype))


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a name; bfloat16 comes from ml_dtypes."""
    found = _numpy_dtypes.get(name)
    if found is None:
        if name == "bfloat16":
            import ml_dtypes

            found = np.dtype(ml_dtypes.bfloat16)
        else:
            found = np.dtype(name)
        _numpy_dtypes[name] = found
    return found
