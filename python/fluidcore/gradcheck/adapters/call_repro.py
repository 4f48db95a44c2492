"""How the check of a function is repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fluidcore.gradcheck.adapters.claim import Claim
from fluidcore.gradcheck.adapters.origin import import_of
from fluidcore.gradcheck.target.repro import Repro

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


def call_repro(
    f: Callable[..., Any], args: Sequence[Any], claim: Claim, imports: Sequence[str]
) -> Repro | None:
    """A program that checks `f`; None if that cannot be written down.

    Args:
        f: Can be written down if it can be imported.
        args: Of f, with a Text for each tensor.
        claim: Its gradient.
        imports: What the texts need.
    """
    functions = {"vjp": claim.vjp, "jvp": claim.jvp}
    given = {key: function for key, function in functions.items() if function is not None}
    found = [import_of(function) for function in (f, *given.values())]
    if None in found or not all(map(_is_plain, args)):
        return None
    parts = [f.__name__, *map(repr, args)]
    parts += [f"{key}={function.__name__}" for key, function in given.items()]
    if claim.value_and_grad:
        parts.append("value_and_grad=True")
    lines = [*imports, *dict.fromkeys(line for line in found if line)]
    lines.append("from fluidcore.gradcheck import check")
    return Repro(lines, f"check({', '.join(parts)}", lead=", config=")
