"""Scopes in scopes, entered and left: the global one at first."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from fluidcore import core
from fluidcore.executor import global_scope

_entered: ContextVar[tuple[core.Scope, ...]] = ContextVar("fluidcore_entered_scopes", default=())


def get_cur_scope() -> core.Scope:
    """The scope entered last, of this thread; the global one if none was."""
    entered = _entered.get()
    return entered[-1] if entered else global_scope()


def enter_local_scope() -> None:
    """Makes a new scope in the current one the current one."""
    _entered.set((*_entered.get(), get_cur_scope().new_scope()))


def leave_local_scope() -> None:
    """Goes back to the scope before; the one that is left is gone.

    Raises:
        core.InvalidArgument: None was entered.
    """
    entered = _entered.get()
    if not entered:
        raise core.InvalidArgument(
            "leave_local_scope: must come after enter_local_scope, got none that was entered"
        )
    _entered.set(entered[:-1])
    get_cur_scope().drop_kids()


def var(name: str) -> core.Variable:
    """The variable of the current scope, made if there is none."""
    return get_cur_scope().var(name)


def find_var(name: str) -> core.Variable | None:
    """The variable of the current scope or one around it; None if there is none."""
    return get_cur_scope().find_var(name)


def scoped_function(func: Callable[[], Any]) -> None:
    """Calls a function in a scope of its own."""
    enter_local_scope()
    try:
        func()
    finally:
        leave_local_scope()
