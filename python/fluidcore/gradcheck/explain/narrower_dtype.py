"""A is right but for the rounding of a smaller dtype."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.explain.mismatch import Guess, Mismatch
from fluidcore.gradcheck.target.precision import UNIT

_WIDER = 16  # the error of a rounded intermediate value may be this much larger, or smaller
_SCATTER = 0.25  # of rounding errors: their deviation, at least, relative to their size


def rounded(mismatch: Mismatch) -> Iterator[Guess]:
    """Every element of A is a number of a smaller dtype, and near G."""
    if not np.any(mismatch.a) or not np.all(np.isfinite(mismatch.a)):
        return
    largest = np.max(np.abs(mismatch.g), initial=0.0)
    larger_units = [pair for pair in UNIT.items() if pair[1] > UNIT[mismatch.dtype]]
    for name, unit in reversed(larger_units):
        with np.errstate(over="ignore"):
            back = mismatch.a.astype(numpy_dtype(name)).astype(np.float64)
            value = mismatch.g.astype(numpy_dtype(name)).astype(np.float64)
        apart = np.abs(mismatch.a - mismatch.g)
        near = bool(np.all(apart <= _WIDER * unit * np.maximum(np.abs(mismatch.g), largest / 4)))
        if np.array_equal(back, mismatch.a) and near:
            yield mismatch.guess(f"A is rounded to {name}", mismatch.a)
            continue
        yield mismatch.guess(f"A is rounded to {name}", value)
    for name, unit in larger_units:
        apart = np.abs(mismatch.a - mismatch.g)
        if np.all(apart <= _WIDER * unit * np.abs(mismatch.g) + mismatch.limit):
            if _are_like_rounding(mismatch, unit):
                text = f"A differs from G by about the rounding of {name}: something is cast to it"
                yield mismatch.guess(text, mismatch.a, most=0.7)
            return


def _are_like_rounding(mismatch: Mismatch, unit: float) -> bool:
    """Whether the differences are not far below a rounding unit, and scatter, as no factor does."""
    parts = (mismatch.a - mismatch.g)[mismatch.g != 0] / mismatch.g[mismatch.g != 0]
    size = np.sqrt(np.mean(parts**2)) if parts.size else 0.0
    largest = np.max(np.abs(parts), initial=0.0)
    return bool(largest >= unit / _WIDER and np.std(parts) >= _SCATTER * size)
