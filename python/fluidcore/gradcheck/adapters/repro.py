"""Python text that repeats the check of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fluidcore.gradcheck.adapters.origin import import_of

_PLAIN = (int, float, str, bool, type(None))


class Text(str):
    """Stands for a tensor in a tree of arguments, and is printed as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(_is_plain(item) for item in value.values())
    if type(value) in (list, tuple):
        return all(_is_plain(item) for item in value)
    return type(value) in (*_PLAIN, Text)


def call_text(
    f: Any,
    args: Sequence[Any],
    vjp: Callable[..., Any] | None,
    value_and_grad: bool,
    imports: Sequence[str],
) -> str | None:
    """A program that checks `f`; None if that cannot be written down.

    Args:
        f: Can be written down if it can be imported.
        args: Of f, with a Text for each tensor.
        vjp: Of the user, if there is one.
        value_and_grad: Whether f returns its gradient, too.
        imports: What the texts need.
    """
    found = [import_of(function) for function in (f, vjp) if function is not None]
    if None in found or not all(map(_is_plain, args)):
        return None
    call = ", ".join([f.__name__, *map(repr, args)])
    if vjp is not None:
        call += f", vjp={vjp.__name__}"
    if value_and_grad:
        call += ", value_and_grad=True"
    lines = [*imports, *dict.fromkeys(line for line in found if line)]
    return "\n".join([*lines, "from fluidcore.gradcheck import check", f"print(check({call}))"])
