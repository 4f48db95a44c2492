"""What a function is called, where it was written, and how to get it again."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import Any


def _inner(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if callable(function):
        function = inspect.unwrap(function)
    return getattr(function, "__func__", function)


def name_of(function: Any) -> str:
    """What messages call `function`."""
    inner = _inner(function)
    name = getattr(inner, "__qualname__", None) or getattr(inner, "__name__", None)
    if not isinstance(name, str):
        return type(inner).__name__
    return name.rpartition("<locals>.")[2]


def source_of(function: Any) -> str | None:
    """Where `function` was defined, "file.py:12"; None if that is unknown."""
    inner = _inner(function)
    if inspect.isbuiltin(inner):
        return None
    code = getattr(inner, "__code__", None)
    if code is not None:
        filename, line = code.co_filename, code.co_firstlineno
    elif inspect.isclass(inner):
        try:
            filename, line = inspect.getsourcefile(inner) or "", inspect.getsourcelines(inner)[1]
        except (OSError, TypeError):
            return None
    else:
        call = inspect.getattr_static(type(inner), "__call__", None)
        return source_of(call) if inspect.isfunction(call) else None
    return f"{filename.removeprefix(os.getcwd() + os.sep)}:{line}" if filename else None


def import_of(function: Any) -> str | None:
    """The text "from module import name", if that gets `function` again."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if not module or module == "__main__" or not name.isidentifier():
        return None
    found = getattr(sys.modules.get(module), name, None)
    return f"from {module} import {name}" if found is function else None
