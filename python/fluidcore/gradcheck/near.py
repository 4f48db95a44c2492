"""What somebody may have meant by a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def meant(name: str, known: Iterable[str]) -> str:
    """The end of a message: "; did you mean 'tanh'?", or nothing."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""
