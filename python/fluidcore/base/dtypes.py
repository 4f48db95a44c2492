"""Element types: the many ways to write one, and its one name."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np

from fluidcore import core

DTypeLike: TypeAlias = "str | int | np.dtype[Any] | type[Any]"

NAMES = ("bool", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16")
FLOATING = frozenset({"float16", "float32", "float64", "bfloat16"})

_KNOWN = frozenset(NAMES)
_numpy_dtypes: dict[str, np.dtype[Any]] = {}


def dtype_name(dtype: DTypeLike) -> str:
    """The name of an element type.

    Args:
        dtype: A name ("float32"), a NumPy dtype or scalar type, or Fluid's number (5).

    Returns:
        One of `NAMES`.

    Raises:
        core.InvalidArgument: fluidcore has no such element type.
    """
    if isinstance(dtype, str) and dtype in _KNOWN:
        return dtype
    if isinstance(dtype, (int, np.integer)) and not isinstance(dtype, bool):
        return core.dtype_name(int(dtype))
    if dtype is None:  # for NumPy it would be float64
        raise core.InvalidArgument(f"dtype must be one of {', '.join(NAMES)}, got None")
    try:
        name = str(np.dtype(cast("Any", dtype)).name)
    except TypeError:
        name = str(dtype)
    if name not in _KNOWN:
        raise core.InvalidArgument(f"dtype must be one of {', '.join(NAMES)}, got {dtype!r}")
    return name


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
