"""Profiles of saved models, fed with random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.executor import Executor, Scope, scope_guard
from fluidcore.io import load_inference_model
from fluidcore.io.file_names import Path
from fluidcore.profiler.profile import Profile, profile
from fluidcore.program import Program, Variable


def profile_saved(folder: Path, batch: int, runs: int, trace: Path | None = None) -> Profile:
    """Profiles the runs of a model after the first one, which prepares everything.

    Args:
        folder: Of save_inference_model.
        batch: Takes the place of every extent that the model leaves open.
        runs: The number of runs.
        trace: Where a trace is written; None for none.

    Returns:
        The profile.

    Raises:
        core.Error: The model cannot be read, or does not take what it is fed.
    """
    executor = Executor()
    with scope_guard(Scope()):
        program, feed, targets = _loaded(folder, batch, executor)
        executor.run(program, feed, targets)
        with profile(trace) as recorded:
            for _ in range(runs):
                executor.run(program, feed, targets)
    return recorded


def plan_of_saved(folder: Path, batch: int) -> str:
    """The steps that a run of a model takes, as text; see Executor.plan.

    Args:
        folder: Of save_inference_model.
        batch: Takes the place of every extent that the model leaves open.

    Raises:
        core.Error: The model cannot be read, or does not take what it is fed.
    """
    executor = Executor()
    with scope_guard(Scope()):
        return executor.plan(*_loaded(folder, batch, executor))


def _loaded(
    folder: Path, batch: int, executor: Executor
) -> tuple[Program, dict[str, NDArray[Any]], list[Variable]]:
    """A model, with its parameters in the global scope: program, random feeds, what is fetched."""
    program, names, targets = load_inference_model(folder, executor)
    block = program.global_block()
    return program, {name: _random(block.var(name), batch) for name in names}, targets


def _random(variable: Variable, batch: int) -> NDArray[Any]:
    """Normal numbers; zeros where elements may be indices."""
    shape = [batch if extent == -1 else extent for extent in variable.shape]
    dtype = numpy_dtype(variable.dtype)
    if variable.dtype not in FLOATING:
        return np.zeros(shape, dtype)
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)
