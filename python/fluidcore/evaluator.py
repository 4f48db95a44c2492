"""Evaluators: metrics over batches whose counts are variables of the program.

`fluidcore.metrics` has metrics in plain Python, more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from fluidcore import core, layers
from fluidcore.executor import Executor, fetch_var
from fluidcore.program import Program, Variable, program_guard


class Evaluator:
    """Counts that each run of a program adds to, until they are reset.

    Args:
        name: Starts the names of the counts.

    Attributes:
        states: The counts, persistable variables; zero after the startup program and `reset`.
        metrics: What a batch gives, variables to fetch.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        del kwargs
        self.name = name
        self.states: list[Variable] = []
        self.metrics: list[Variable] = []

    def reset(self, executor: Executor, reset_program: Program | None = None) -> None:
        """Makes the counts zero.

        Args:
            executor: Runs the program.
            reset_program: To which the operators are appended that do it; None for a new one.
        """
        program = Program() if reset_program is None else reset_program
        with program_guard(program):
            for state in self.states:
                twin = program.global_block().create_var(
                    state.name, shape=state.shape, dtype=state.dtype, persistable=True
                )
                layers.fill_constant(state.shape, state.dtype, 0.0, out=twin)
        executor.run(program)

    def eval(self, executor: Executor, eval_program: Program | None = None) -> Any:
        """The metric of all batches since the last reset."""
        raise NotImplementedError

    def _create_state(self, suffix: str, dtype: str, shape: Sequence[int]) -> Variable:
        state = layers.create_global_var(
            shape, 0.0, dtype, persistable=True, name=f"{self.name}.{suffix}"
        )
        self.states.append(state)
        return state


class Accuracy(Evaluator):
    """The share of rows whose label is among the k largest elements, over batches.

    Appended to the default main program, every run of which counts; `clone` it before for a
    program that does not count.

    Args:
        input: [n, classes], scores.
        label: [n, 1], int64.
        k: How many of the largest elements count.
        **kwargs: Accepted for Fluid's sake.

    Attributes:
        metrics: [accuracy of the batch].
    """

    def __init__(self, input: Variable, label: Variable, k: int = 1, **kwargs: Any) -> None:
        block = input.block.program.current_block()
        super().__init__(block.unique_name("accuracy"), **kwargs)
        if block.idx != 0:
            raise core.InvalidArgument(
                f"evaluator.Accuracy: must stand in the outermost block, got block {block.idx}"
            )
        self.total = self._create_state("total", "int64", [1])
        self.correct = self._create_state("correct", "int64", [1])
        total, correct = (layers.create_tensor("int32") for _ in range(2))
        share = layers.accuracy(input, label, k, correct=correct, total=total)
        for state, count in ((self.total, total), (self.correct, correct)):
            layers.sums([state, layers.cast(count, "int64")], out=state)
        self.metrics.append(share)

    def eval(self, executor: Executor, eval_program: Program | None = None) -> Any:
        """The accuracy of all batches since the last reset.

        Args:
            executor: Accepted for Fluid's sake, and so is eval_program; the counts are those in
                the global scope.
            eval_program: Accepted.

        Returns:
            float32 [1].

        Raises:
            core.InvalidArgument: There was no batch.
        """
        del executor, eval_program
        total, correct = (fetch_var(state.name) for state in (self.total, self.correct))
        if not total[0]:
            raise core.InvalidArgument(
                "evaluator.Accuracy: eval must come after a run of the program, got no row since "
                "the last reset"
            )
        return (correct / total).astype(np.float32)


_INSTEAD = {"ChunkEvaluator": "count_chunks and ChunkEvaluator", "EditDistance": "EditDistance"}


def __getattr__(name: str) -> NoReturn:
    """Says where the metric of one of Fluid's evaluators is.

    Raises:
        AttributeError: There is no such evaluator.
    """
    if name in _INSTEAD:
        raise AttributeError(
            f"'{name}' works on nested sequences, which there are not; fluidcore.metrics has "
            f"{_INSTEAD[name]} for lists"
        )
    raise AttributeError(f"module 'fluidcore.evaluator' has no attribute '{name}'")
