"""Modules in a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self, overload

from fluidcore.eager.nn.module import Module


class _Row(Module):
    """Modules under the names "0", "1", ..., as a list has them."""

    def append(self, module: Module) -> Self:
        """Adds a module at the end; returns the row."""
        if not isinstance(module, Module):
            raise TypeError(
                f"{type(self).__name__}: all parts must be Modules, got {type(module).__name__}"
            )
        setattr(self, str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end; returns the row."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return sum(1 for _ in self.children())

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    @overload
    def __getitem__(self, index: int) -> Module: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Module | Self:
        found = list(self.children())[index]
        if isinstance(found, Module):
            return found
        row = type(self)()
        return row.extend(found)


class Sequential(_Row):
    """Modules one after the other, each called with the result of the one before.

    Args:
        modules: Any number of them.
    """

    def __init__(self, *modules: Module) -> None:
        self.extend(modules)

    def forward(self, x: Any) -> Any:
        """What the last module gives."""
        for module in self:
            x = module(x)
        return x


class ModuleList(_Row):
    """A list of modules whose parameters are found; it is no function itself.

    Args:
        modules: What it starts with.
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self.extend(modules)
