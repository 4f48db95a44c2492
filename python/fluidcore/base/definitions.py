"""What is remembered of operators' definitions, and forgotten when one is added or replaced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

_P = ParamSpec("_P")
_T = TypeVar("_T")

_forget: list[Callable[[], None]] = []


def remembered(function: Callable[_P, _T], at_most: int | None = None) -> Callable[_P, _T]:
    """The function with a cache of its results, of `at_most` of them, which depend on definitions.

    Args:
        function: Its arguments must be hashable.
        at_most: None for all.
    """
    cached = functools.lru_cache(maxsize=at_most)(function)
    _forget.append(cached.cache_clear)
    return cast("Callable[_P, _T]", cached)


def definitions_changed() -> None:
    """Forgets all that was remembered."""
    for forget in _forget:
        forget()
