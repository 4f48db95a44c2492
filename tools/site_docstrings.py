"""What docstrings need for the site, as an extension of Griffe, which reads them.

Code under `Example:` becomes a block of Python. Layers that are made of the definitions of
operators are in the stub alone, and public.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^Example:\n((?:(?: {4}.*)?(?:\n|\Z))+)", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Rewrites the docstring of each object once, where it is read, and completes the layers."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called for fluidcore, when sources and stubs are put together."""
        layers = pkg["layers"]
        made = [name for name, member in layers.members.items() if not member.is_alias]
        functions = [name for name in made if layers.members[name].is_function]
        layers.exports = sorted(
            {*layers.exports, *(name for name in functions if not name.startswith("_"))}
        )
        uncover(pkg)


def uncover(package: griffe.Module) -> None:
    """Lets `from package.einsum import einsum` name the function, as in Python, not the module."""
    for module in list(package.modules.values()):
        if not module.is_alias:
            uncover(module)
    for name, target in package.imports.items():
        found = package.members.get(name)
        if isinstance(found, griffe.Module) and target == f"{found.path}.{name}":
            package.set_member(name, griffe.Alias(name, found.members[name], parent=package))


def as_markdown(docstring: str) -> str:
    """The docstring with its examples fenced."""

    def fenced(match: re.Match[str]) -> str:
        return f"Example:\n    ```python\n{match[1].rstrip()}\n    ```\n\n"

    return EXAMPLE.sub(fenced, docstring).rstrip()
