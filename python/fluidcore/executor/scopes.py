"""The Scope where variables live between runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from fluidcore import core

Scope: TypeAlias = core.Scope

_scope: ContextVar[Scope] = ContextVar("fluidcore_scope", default=core.Scope())  # noqa: B039


def global_scope() -> Scope:
    """The Scope that runs use when not told otherwise."""
    return _scope.get()


def switch_scope(scope: Scope) -> Scope:
    """Makes another Scope the global one, in this thread; returns the former.

    `scope_guard` does so for a `with` block.
    """
    if not isinstance(scope, core.Scope):
        raise TypeError(f"scope must be a Scope, got {type(scope).__name__}")
    former = _scope.get()
    _scope.set(scope)
    return former


@contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Makes another Scope the global one inside the `with` block, in this thread only."""
    if not isinstance(scope, core.Scope):
        raise TypeError(f"scope must be a Scope, got {type(scope).__name__}")
    token = _scope.set(scope)
    try:
        yield
    finally:
        _scope.reset(token)
