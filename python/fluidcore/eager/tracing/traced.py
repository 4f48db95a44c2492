"""TracedProgram: what a function of tensors calculates, as a program with its parameters."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.eager.operation import Array
from fluidcore.executor import Executor, scope_guard
from fluidcore.io.model import save_inference_model
from fluidcore.program import Program


class TracedProgram:
    """A program, and all that running it needs.

    Attributes:
        program: The operators. Parameters have the names of the state_dict.
        feeds: The names to feed, those of the function's arguments.
        fetches: The names to fetch: "output", or "output_0", "output_1", ...
        scope: The values of parameters, buffers and constants when they were traced.
    """

    def __init__(
        self, program: Program, feeds: list[str], fetches: list[str], scope: core.Scope
    ) -> None:
        self.program = program
        self.feeds = feeds
        self.fetches = fetches
        self.scope = scope
        self._executor = Executor()

    def run(self, *inputs: Any) -> list[Array]:
        """What the function gives, as arrays in the order of `fetches`.

        Args:
            inputs: For each of `feeds` a Tensor or an array.

        Raises:
            TypeError: There are more inputs, or fewer.
            core.Error: One does not fit.
        """
        if len(inputs) != len(self.feeds):
            raise TypeError(
                f"run: there must be an input for each of {self.feeds}, got {len(inputs)}"
            )
        feed = {name: np.asarray(x) for name, x in zip(self.feeds, inputs, strict=True)}
        return self._executor.run(self.program, feed, self.fetches, self.scope)

    def save(self, dirname: str | os.PathLike[str]) -> None:
        """Writes program and parameters, for `fluidcore.io.load_inference_model` and for C++.

        As every model that is saved for inference, it then does without dropout.

        Args:
            dirname: Folder; made if there is none.
        """
        with scope_guard(self.scope):
            save_inference_model(dirname, self.feeds, self.fetches, self._executor, self.program)

    def __repr__(self) -> str:
        count = len(self.program.global_block().ops)
        feeds, fetches = ", ".join(self.feeds), ", ".join(self.fetches)
        return f"TracedProgram({feeds} -> {fetches}, {count} operators)"
