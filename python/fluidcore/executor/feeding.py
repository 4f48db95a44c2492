"""What is fed, in the element type that the program declares: the one rule of what converts.

A value converts in silence where nothing is lost, a float64 array to float32 with a warning, and
nothing else does.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from fluidcore import core
from fluidcore.base.call_site import warn
from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.program import Program, Variable

Array = np.ndarray[Any, Any]

_DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}  # bits of whole numbers
_PLAIN = frozenset({bool, float, int})

_warned: WeakKeyDictionary[Program, set[str]] = WeakKeyDictionary()


def is_lossless(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether every number of one element type is one of the other."""
    if source.kind in "iu" and target.name in _DIGITS:  # NumPy calls int64 to float64 safe
        return np.iinfo(source).bits - (source.kind == "i") <= _DIGITS[target.name]
    return np.can_cast(source, target, "safe")


def as_declared(program: Program, name: str, value: Any, declared: core.VarDesc) -> Any:
    """A fed value as an array or a Tensor of the declared element type.

    Where the declared shape ends in an extent of 1 that the value has not got, it gets it.

    Args:
        program: What is run.
        name: Of the variable.
        value: Array, Tensor, number or nested list; anything with `__dlpack__` too.
        declared: The variable.

    Raises:
        core.InvalidArgument: The value does not convert without losing integers or range.
        TypeError: A Variable is fed.
    """
    dtype = numpy_dtype(declared.dtype())
    if isinstance(value, Variable):
        raise TypeError(f"feed '{name}': must be data, got {value!r}")
    if isinstance(value, np.ma.MaskedArray):
        raise core.InvalidArgument(
            f"feed '{name}': must be without a mask, got a masked array; write {name}.filled(...)"
        )
    if not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "__dlpack__"):
        try:
            value = _viewed(value)
        except BufferError as error:
            raise core.InvalidArgument(f"feed '{name}': must be readable, got {error}") from None
    if isinstance(value, core.Tensor):
        fits = value.dtype() == dtype.name and len(value.shape()) == len(declared.shape())
        if fits or not value.is_initialized():
            return value
    array = _converted(program, name, value, dtype)
    shape = declared.shape()
    is_short = len(shape) == array.ndim + 1 and shape[-1] == 1
    return array[..., None] if is_short else array


def _viewed(value: Any) -> Any:
    """Another library's tensor; as an array if only NumPy has its element type, such as uint8."""
    if isinstance(value, core.Tensor):
        return value
    try:
        return core.Tensor.from_dlpack(value, copy=True)
    except core.InvalidArgument as refusal:
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError):
            raise refusal from None


def _converted(program: Program, name: str, value: Any, dtype: np.dtype[Any]) -> Array:
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "biuf" and raw.dtype.name not in FLOATING:
            raise TypeError(f"{raw.dtype} does not convert to {dtype.name}")
        if not _is_typed(value):
            return _from_numbers(value, raw, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise core.InvalidArgument(
            f"feed '{name}': must be an array, a Tensor, or numbers that {dtype.name} can hold, "
            f"got {type(value).__name__}: {error}"
        ) from None
    if is_lossless(raw.dtype, dtype):
        return raw.astype(dtype, copy=False)
    cure = _cure(name, value, dtype)
    if raw.dtype != np.float64 or dtype != np.float32:
        raise core.InvalidArgument(
            f"feed '{name}': must be {dtype.name} as the variable, got {raw.dtype}; {cure}"
        )
    array = _rounded(raw, dtype)
    if _is_beyond(raw, array):
        raise core.InvalidArgument(
            f"feed '{name}': must hold numbers in the range of {dtype.name}, got a float64 array "
            f"with {raw[np.isinf(array) & np.isfinite(raw)][0]}"
        )
    told = _warned.setdefault(program, set())
    if name not in told:
        told.add(name)
        warn(f"feed '{name}': a float64 array is rounded to float32 in every run; {cure}")
    return array


def _is_typed(value: Any) -> bool:
    """Whether a value has an element type of its own; Python's numbers and lists have none."""
    if isinstance(value, (list, tuple, range)):
        return not _PLAIN.issuperset(map(type, value)) and any(_is_typed(item) for item in value)
    return isinstance(value, np.generic) or not isinstance(value, (bool, int, float))


def _from_numbers(value: Any, raw: Array, dtype: np.dtype[Any]) -> Array:
    """Python's numbers in an element type; TypeError or OverflowError where it does not hold them.

    Args:
        value: The numbers.
        raw: What NumPy makes of them.
        dtype: Wanted.
    """
    kind = raw.dtype.kind
    is_wider = (kind == "f" and dtype.kind in "iub") or (kind != "b" and dtype.kind == "b")
    if is_wider and raw.size:
        raise TypeError(f"{raw.dtype} does not convert to {dtype.name}")
    if kind != "f" and dtype.kind in "iub":
        return np.asarray(value, dtype)
    array = _rounded(raw, dtype)
    if _is_beyond(raw, array):
        raise OverflowError(f"a number is too large for {dtype.name}")
    with np.errstate(invalid="ignore"):
        is_whole = kind == "f" or bool(np.all(array.astype(raw.dtype) == raw))
    if not is_whole:
        raise OverflowError(f"a whole number has too many digits for {dtype.name}")
    return array


def _rounded(raw: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(over="ignore"):
        return raw.astype(dtype)


def _is_beyond(raw: Array, array: Array) -> bool:
    return bool(np.any(np.isinf(array) & np.isfinite(raw)))


def _cure(name: str, value: Any, dtype: np.dtype[Any]) -> str:
    if isinstance(value, core.Tensor):
        return f"feed a {dtype.name} tensor"
    if isinstance(value, (np.ndarray, np.generic)):
        return f"write {name}.astype('{dtype.name}')"
    return f"write np.asarray({name}).astype('{dtype.name}')"
