"""The names that gradients get in the program."""

from __future__ import annotations

from fluidcore import core
from fluidcore.backward.versions import Version, Versions
from fluidcore.program import Block, Variable


class GradientNames:
    """The names of the gradients in one block, and which of them exist.

    Args:
        block: Where the gradient operators go.
        versions: Of the variables of the forward block.
    """

    def __init__(self, block: Block, versions: Versions) -> None:
        self.block = block
        self.versions = versions
        self.grad_to_var: dict[str, str] = {}
        self.version_of: dict[str, Version] = {}
        self.produced: set[str] = set()
        self._final: dict[str, str] = {}
        self.taken: set[str] = set()

    def gradient(self, name: str, version: Version) -> str:
        """x@GRAD; x@GRAD@VERSION@1 for another than the value that x@GRAD belongs to."""
        grad = core.grad_var_name(name)
        if version.gradient != self.versions.official.get(name, 0):
            grad = f"{grad}@VERSION@{version.gradient}"
        final = self._final.get(grad)
        if final is None:
            final = self._final[grad] = self.fresh(grad)
            self.version_of[final] = version
        return final

    def fresh(self, name: str) -> str:
        """The name, or with a number behind it if it is taken: x@GRAD_0."""
        final, count = name, 0
        while final in self.taken or self.block.desc.has_var_recursive(final):
            final, count = f"{name}_{count}", count + 1
        self.taken.add(final)
        return final

    def variable(self, name: str) -> Variable | None:
        """The gradient of a variable; None if nothing calculates it."""
        final = self._final.get(core.grad_var_name(name))
        return self.block.var(final) if final is not None and final in self.produced else None
