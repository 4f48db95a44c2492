"""Dataclasses and named tuples as plain JSON values, and back.

Numbers that JSON cannot write are the strings "inf", "-inf" and "nan".
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import types
import typing
from enum import Enum
from typing import Any


class DamagedError(ValueError):
    """A plain value does not fit its type; the message starts with where it is."""


def encode(value: Any) -> Any:
    """The plain form of a value: dict, list, str, int, float, bool or None."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: encode(getattr(value, name)) for name in value._fields}
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    raise TypeError(f"a report holds numbers, text and tuples of them, got {value!r}")


def decode(kind: Any, value: Any, where: str) -> Any:
    """What `encode` made a plain value of.

    Args:
        kind: The type, as in the annotation of a field.
        value: From a file that somebody may have changed.
        where: Names the value in messages, for example "reports[0].seed".

    Raises:
        DamagedError: The value does not fit.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType or origin is typing.Union:
        rest = [argument for argument in arguments if argument is not type(None)]
        return None if value is None else decode(rest[0], value, where)
    if origin is tuple:
        items = _of(list, value, where)
        return tuple(decode(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(items))
    if origin is dict:
        pairs = _of(dict, value, where)
        return {key: decode(arguments[1], item, f"{where}.{key}") for key, item in pairs.items()}
    if issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            known = ", ".join(repr(member.value) for member in kind)
            raise DamagedError(f"{where} must be one of {known}, got {value!r}") from None
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        return _decode_fields(kind, value, where)
    return _decode_float(value, where) if kind is float else _of(kind, value, where)


def _decode_fields(kind: Any, value: Any, where: str) -> Any:
    given = _of(dict, value, where)
    found = {}
    for name, hint in typing.get_type_hints(kind).items():
        if name in given:
            found[name] = decode(hint, given[name], f"{where}.{name}")
        elif name in _required(kind):
            raise DamagedError(f"{where}.{name} must be there, got nothing")
    return kind(**found)


def _required(kind: Any) -> set[str]:
    if not dataclasses.is_dataclass(kind):
        return set(kind._fields) - set(kind._field_defaults)
    missing = dataclasses.MISSING
    fields = dataclasses.fields(kind)
    return {f.name for f in fields if f.default is missing and f.default_factory is missing}


def _decode_float(value: Any, where: str) -> float:
    if isinstance(value, str) and value in ("inf", "-inf", "nan"):
        return float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise DamagedError(f"{where} must be a number, 'inf', '-inf' or 'nan', got {_shown(value)}")


def _of(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise DamagedError(f"{where} must be of type {kind.__name__}, got {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
