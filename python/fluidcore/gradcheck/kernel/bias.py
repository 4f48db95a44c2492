"""The difference between a gradient in its own dtype and in float64, around a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import cast
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles

Columns: TypeAlias = NDArray[np.int64] | slice

ALL = slice(None)
POINTS = 9
_FEWEST = 5  # that make a mean; the others were outside of the domain of f


@dataclass(frozen=True)
class Bias:
    """What the points around a centre have in common.

    Attributes:
        mean: Of kernel minus float64; for each cotangent and input, [n], n elements that are kept.
        spread: Its standard deviation.
        formula: The mean of float64.
    """

    mean: list[list[Doubles]]
    spread: list[list[Doubles]]
    formula: list[list[Doubles]]

    def of(self, k: int, columns: Columns = ALL) -> tuple[Doubles, Doubles, Doubles]:
        """Mean, spread and formula for some elements of one input, [r, columns] each."""
        mean, spread, formula = (
            np.array([row[k][columns] for row in part])
            for part in (self.mean, self.spread, self.formula)
        )
        return mean, spread, formula


def bias(
    session: Session,
    centre: Sequence[Array],
    name: str,
    *,
    itself: bool,
    kept: Sequence[Columns] | None = None,
) -> Bias:
    """Compares gradients at points that differ from a centre by √u, and cotangents likewise.

    Args:
        session: The check.
        centre: An array for each input, of the target's dtype.
        name: Of the random numbers.
        itself: Whether the centre is one of the points.
        kept: For each input the elements that are wanted; None for all.
    """
    columns = [ALL] * len(centre) if kept is None else kept
    means, spreads, formulas = [], [], []
    for row in range(session.num_cotangents):
        v0 = session.cotangent(row)
        moments = [
            _Moments(x.reshape(-1)[chosen].size) for x, chosen in zip(centre, columns, strict=True)
        ]
        for point in range(POINTS):
            xs, vs = list(centre), v0
            if point or not itself:
                purpose = f"{name}, cotangent {row}, point {point}"
                xs = dithered(
                    session, centre, [part.name for part in session.target.inputs], purpose
                )
                if not session.target.fixed_cotangent:
                    vs = dithered(session, v0, [f"output {j}" for j in range(len(v0))], purpose)
            upcast = [cast(x, SHADOW) for x in xs], [cast(v, SHADOW) for v in vs]
            try:
                kernel = session.calls.gradient(xs, vs, session.target.dtype)
                formula = session.calls.gradient(*upcast, SHADOW)
            except Exception:
                if itself and not point:
                    raise
                continue  # outside of the domain of f
            with np.errstate(invalid="ignore", over="ignore"):
                for part, chosen, a, b in zip(moments, columns, kernel, formula, strict=True):
                    part.add(a[chosen], b[chosen])
            del upcast, kernel, formula
        means.append([part.mean for part in moments])
        spreads.append([part.spread for part in moments])
        formulas.append([part.formula for part in moments])
    return Bias(means, spreads, formulas)


def dithered(
    session: Session,
    arrays: Sequence[Array],
    names: Sequence[str],
    purpose: str,
    power: float = 0.5,
) -> list[Array]:
    """The arrays with every element changed by up to u**power of itself, rounded to the dtype.

    An array of zeros gets small positive numbers: at one and the same point a rounding error is the
    same, too, and looks like a fault.
    """
    amplitude = UNIT[session.target.dtype] ** power
    found = []
    for array, name in zip(arrays, names, strict=True):
        random = stream(session.config.seed, name, purpose).uniform(-1, 1, array.shape)
        wide = np.asarray(array).astype(np.float64)
        moved = wide * (1 + amplitude * random) if wide.any() else amplitude * np.abs(random)
        found.append(cast(moved, session.target.dtype))
    return found


class _Moments:
    """Mean and standard deviation of a difference, in memory for little more than three arrays."""

    def __init__(self, size: int) -> None:
        self._count = np.zeros(size, dtype=np.int8)
        self._mean = np.zeros(size)
        self._squares = np.zeros(size)
        self._formula = np.zeros(size)

    def add(self, kernel: Doubles, formula: Doubles) -> None:
        """Takes in `kernel - formula`, where `formula` is finite."""
        where = np.isfinite(formula)
        self._count += where
        count = np.maximum(self._count, 1)
        values = kernel - formula
        step = np.where(where, values - self._mean, 0.0)
        self._mean += step / count
        values -= self._mean
        values[~where] = 0.0
        values *= step
        self._squares += values
        np.subtract(formula, self._formula, out=step)
        step[~where] = 0.0
        step /= count
        self._formula += step

    @property
    def mean(self) -> Doubles:
        """NaN where there were too few values."""
        return np.where(self._count >= _FEWEST, self._mean, np.nan)

    @property
    def formula(self) -> Doubles:
        """The mean of the second of both; NaN where there were too few."""
        return np.where(self._count >= _FEWEST, self._formula, np.nan)

    @property
    def spread(self) -> Doubles:
        deviation: Doubles = np.sqrt(self._squares / np.maximum(self._count - 1, 1))
        return deviation
