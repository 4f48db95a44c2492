"""The difference between a gradient in its own dtype and in float64, around a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fluidcore.gradcheck.calls import cast
from fluidcore.gradcheck.judge import UNIT, Mask
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.streams import stream
from fluidcore.gradcheck.target import SHADOW, Array, Doubles

POINTS = 9
_FEWEST = 5  # that make a mean; the others were outside of the domain of f


@dataclass(frozen=True)
class Bias:
    """What the points around a centre have in common.

    Attributes:
        mean: Of kernel minus float64; for each cotangent and input, [n].
        spread: Its standard deviation.
        formula: The mean of float64.
    """

    mean: list[list[Doubles]]
    spread: list[list[Doubles]]
    formula: list[list[Doubles]]

    def of(self, k: int) -> tuple[Doubles, Doubles, Doubles]:
        """Mean, spread and formula for one input, [r, n] each."""
        mean, spread, formula = (
            np.array([row[k] for row in part]) for part in (self.mean, self.spread, self.formula)
        )
        return mean, spread, formula


def bias(session: Session, centre: Sequence[Array], name: str, *, itself: bool) -> Bias:
    """Compares gradients at points that differ from a centre by √u, and cotangents likewise.

    Args:
        session: The check.
        centre: An array for each input, of the target's dtype.
        name: Of the random numbers.
        itself: Whether the centre is one of the points.
    """
    means, spreads, formulas = [], [], []
    for row in range(session.num_cotangents):
        v0 = session.cotangent(row)
        apart, values = ([_Moments(x.size) for x in centre] for _ in range(2))
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
                for j, (a, b) in enumerate(zip(kernel, formula, strict=True)):
                    apart[j].add(a - b, np.isfinite(b))
                    values[j].add(b, np.isfinite(b))
        means.append([part.mean for part in apart])
        spreads.append([part.spread for part in apart])
        formulas.append([part.mean for part in values])
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
    """Mean and standard deviation of what is added, in memory for three arrays."""

    def __init__(self, size: int) -> None:
        self._count = np.zeros(size)
        self._mean = np.zeros(size)
        self._squares = np.zeros(size)

    def add(self, values: Doubles, where: Mask) -> None:
        self._count = self._count + where
        step = np.where(where, values - self._mean, 0.0)
        self._mean = self._mean + step / np.maximum(self._count, 1)
        self._squares = self._squares + step * np.where(where, values - self._mean, 0.0)

    @property
    def mean(self) -> Doubles:
        """NaN where there were too few values."""
        return np.where(self._count >= _FEWEST, self._mean, np.nan)

    @property
    def spread(self) -> Doubles:
        deviation: Doubles = np.sqrt(self._squares / np.maximum(self._count - 1, 1))
        return deviation
