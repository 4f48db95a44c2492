"""Profiles of saved models, fed with random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.executor import Executor, Scope, scope_guard
from fluidcore.io import load_inference_model
from fluidcore.io.model import Path
from fluidcore.profiler.profile import Profile, profile
from fluidcore.program import Variable


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
        program, names, targets = load_inference_model(folder, executor)
        block = program.global_block()
        feed = {name: _random(block.var(name), batch) for name in names}
        executor.run(program, feed, targets)
        with profile(trace) as recorded:
            for _ in range(runs):
                executor.run(program, feed, targets)
    return recorded


def _random(variable: Variable, batch: int) -> NDArray[Any]:
    """Normal numbers; zeros where elements may be indices."""
    shape = [batch if extent == -1 else extent for extent in variable.shape]
    dtype = numpy_dtype(variable.dtype)
    if variable.dtype not in FLOATING:
        return np.zeros(shape, dtype)
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)
