"""What docstrings need to be Markdown, as an extension of Griffe, which reads them for the site.

Code under `Example:` becomes a block of Python.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^Example:\n((?:(?: {4}.*)?(?:\n|\Z))+)", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Rewrites the docstring of each object once, where it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """The docstring with its examples fenced."""

    def fenced(match: re.Match[str]) -> str:
        return f"Example:\n    ```python\n{match[1].rstrip()}\n    ```\n\n"

    return EXAMPLE.sub(fenced, docstring).rstrip()
