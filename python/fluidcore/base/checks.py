"""Checks of what users pass: names, numbers, extents. Each error says what it is about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard

from fluidcore import core

_MAX_EXTENT = 2**63 - 1


def check_name(what: str, name: object) -> str:
    """The name.

    Raises:
        TypeError: It is no str.
        core.InvalidArgument: It is no Unicode text, but has a half of a surrogate pair.
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a str, got {type(name).__name__} {name!r}")
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise core.InvalidArgument(
                f"{what} must be text that UTF-8 can hold, got {name[error.start]!a} at position "
                f"{error.start} of {name[:60]!a}"
            ) from None
    return name


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What an error adds: the nearest of the names that are known; nothing if none is near."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def check_number(what: str, value: object, *, finite: bool = True) -> float:
    """The number as a float.

    Raises:
        TypeError: It is no number; a bool and a str are none.
        ValueError: It must be finite, and is not.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{what} must be a number, got {type(value).__name__} {value!r}")
    number = float(value)
    if finite and not math.isfinite(number):
        raise ValueError(f"{what} must be finite, got {number}")
    return number


def check_positive(what: str, value: object) -> float:
    """The number; ValueError if it is not above 0."""
    number = check_number(what, value)
    if number <= 0:
        raise ValueError(f"{what} must be positive, got {value}")
    return number


def check_not_negative(what: str, value: object) -> float:
    """The number; ValueError if it is below 0."""
    number = check_number(what, value)
    if number < 0:
        raise ValueError(f"{what} must be at least 0, got {value}")
    return number


def check_share(what: str, value: object) -> float:
    """The number; ValueError if it is not in [0, 1)."""
    number = check_number(what, value)
    if not 0 <= number < 1:
        raise ValueError(f"{what} must be in [0, 1), got {value}")
    return number


def extents_agree(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes can be one at run time; -1 is any extent."""
    return len(a) == len(b) and all(-1 in (m, n) or m == n for m, n in zip(a, b, strict=True))


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is an integer, of Python or NumPy; a bool is none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_extents(what: str, shape: Any) -> list[int]:
    """The extents of a shape; None counts as -1, which is known only at run time.

    Raises:
        TypeError: It is no list of whole numbers.
        core.InvalidArgument: An extent is below -1, or beyond 64 bits.
    """
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Iterable):
        raise TypeError(f"{what}: shape must be a list of whole numbers, got {shape!r}")
    given = [-1 if extent is None else extent for extent in shape]
    if not all(is_whole(extent) for extent in given):
        raise TypeError(f"{what}: shape must be a list of whole numbers, got {given}")
    extents = [int(extent) for extent in given]
    if not all(-1 <= extent <= _MAX_EXTENT for extent in extents):
        raise core.InvalidArgument(
            f"{what}: extents must be at least 0, or -1 where known only at run time, got {extents}"
        )
    return extents


def check_list(what: str, items: object) -> Sequence[Any]:
    """The items as a list; TypeError for a str and for what cannot be gone through."""
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise TypeError(f"{what} must be a list, got {items!r}")
    return list(items)


def check_whole(what: str, value: object, least: int) -> int:
    """The number as an int.

    Raises:
        TypeError: It is no whole number; a bool is none.
        core.InvalidArgument: It is below `least`.
    """
    if not is_whole(value):
        raise TypeError(
            f"{what} must be a whole number of at least {least}, got {type(value).__name__} "
            f"{value!r}"
        )
    if value < least:
        raise core.InvalidArgument(
            f"{what} must be a whole number of at least {least}, got {value}"
        )
    return int(value)
