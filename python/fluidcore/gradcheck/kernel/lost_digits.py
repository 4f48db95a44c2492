"""Digits that a kernel cannot have, because f(x) in its dtype does not hold them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fluidcore.gradcheck.kernel.neighbours import between, neighbours, unit_of
from fluidcore.gradcheck.measure.modes import Indices
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import cast
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles

_MANY = 128  # elements that are moved
_LOOKED_AT = 32  # elements
_FEWEST = 6  # points on a way
_PLACES = 2.0  # where digits are lost, on the way from f to the gradient
_STEADY = 0.7  # of what a kernel is off by: a fault changes less
_SCATTER = 0.05  # of the same: errors of lost digits differ more


class LostDigits:
    """What of the gradients depends on digits of intermediate results that the dtype lacks.

    1 - tanh² has few digits where tanh is nearly 1, and none where tanh rounds to 1. There is a
    point near by whose outputs are those of x but for a rounding unit, and whose gradient is
    another one: a kernel cannot tell them apart, and its gradient may be that of either. On the way
    from one to the other it then is off by ever other amounts. A fault stays what it is, or the
    same part of the gradient.

    Args:
        session: The check.
        coordinates: (input, element) that are moved.
    """

    def __init__(self, session: Session, coordinates: Sequence[tuple[int, int]]) -> None:
        self._session = session
        self._here = _both(session, [part.value for part in session.target.inputs])
        self._unit = unit_of(session)
        self._neighbours = neighbours(session, coordinates, self._unit)
        self._ways: dict[int, list[_Both]] = {}

    @cached_property
    def _there(self) -> list[_Both]:
        return [_both(self._session, at.xs) for at in self._neighbours]

    def uncertain(self, k: int) -> Doubles:
        """[r, n]: by how much the formula changes at the neighbours, all together."""
        here = self._here.formula[k]
        total = np.zeros_like(here)
        with np.errstate(invalid="ignore"):
            for at in self._there:
                total += np.nan_to_num(at.formula[k] - here, posinf=0.0, neginf=0.0) ** 2
        root: Doubles = np.sqrt(total)
        return root

    def is_steady(self, k: int, row: int, element: int) -> bool:
        """Whether the kernel is off by the same amount, or part, on the way to a neighbour, too.

        To the one where that seems least so. A kernel that is right all the way, as beyond a kink,
        has lost no digits.
        """
        if not self._neighbours:
            return True
        drifts = [self._drift(at, k, row, element) for at in self._there]
        way = self._way(int(np.argmax(drifts)))
        if len(way) < _FEWEST:
            return True
        along = [self._drift(at, k, row, element) for at in way]
        apart = abs(float(self._here.kernel[k][row, element] - self._here.formula[k][row, element]))
        if max(*drifts, *along) < _STEADY * apart:
            return True
        return _scatter(
            [at.kernel[k][row, element] - at.formula[k][row, element] for at in way]
        ) < (_SCATTER * apart)

    def _drift(self, at: _Both, k: int, row: int, element: int) -> float:
        """By how much kernel minus formula differs from what it is at x."""
        (f0, a0), (f, a) = (
            (float(both.formula[k][row, element]), float(both.kernel[k][row, element]))
            for both in (self._here, at)
        )
        if not np.isfinite(f + a):
            return 0.0
        same = abs((a - f) - (a0 - f0))
        return min(same, abs((a - f) - (a0 - f0) / f0 * f)) if f0 else same

    def _way(self, index: int) -> list[_Both]:
        if index not in self._ways:
            points = between(self._session, self._neighbours[index], self._unit)
            self._ways[index] = [_both(self._session, at.xs) for at in points]
        return self._ways[index]


def _scatter(values: Sequence[float]) -> float:
    """The standard deviation; 0 of what is not finite."""
    deviation = float(np.std(values))
    return deviation if np.isfinite(deviation) else 0.0


class _Both(NamedTuple):
    """The gradients at a point, by input [r, n]."""

    formula: list[Doubles]
    kernel: list[Doubles]


def _both(session: Session, xs: Sequence[Array]) -> _Both:
    found = []
    for dtype in (SHADOW, session.target.dtype):
        point = [cast(x, dtype) for x in xs]
        rows = [
            session.calls.sample(point, [cast(v, dtype) for v in session.cotangent(row)], dtype)
            for row in range(session.num_cotangents)
        ]
        found.append([np.array([row[k] for row in rows]) for k in range(len(point))])
    return _Both(*found)


def lost_digits(session: Session, k: int, worst: Indices) -> LostDigits:
    """All elements are moved, or, if there are too many, the worst of input `k` and some others."""
    sizes = [part.value.size for part in session.target.inputs]
    if sum(sizes) <= _MANY:
        return LostDigits(session, [(j, i) for j, size in enumerate(sizes) for i in range(size)])
    chosen = dict.fromkeys((k, int(i)) for i in worst[:_LOOKED_AT])
    random = stream(session.config.seed, session.target.inputs[k].name, "moved elements")
    for at in random.integers(sum(sizes), size=_MANY - len(chosen)):
        j = int(np.searchsorted(np.cumsum(sizes), at, side="right"))
        chosen[j, int(at) - sum(sizes[:j])] = None
    return LostDigits(session, list(chosen))


def are_rounding(session: Session, k: int, off: Doubles, elements: Indices) -> bool:
    """Whether all that a kernel is off by is due to lost digits.

    Args:
        session: The check.
        k: Of the input.
        off: [r, n], by how much it is, or may be; 0 for what needs no excuse.
        elements: [n], which they are.
    """
    size = np.max(off, axis=0)
    worst = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    found = lost_digits(session, k, elements[worst])
    if len(worst) > _LOOKED_AT and sum(part.value.size for part in session.target.inputs) > _MANY:
        worst = worst[:_LOOKED_AT]
    most = _PLACES * found.uncertain(k)[:, elements]
    if (off > most)[:, worst].any():
        return False
    return not any(
        found.is_steady(k, int(row), int(elements[j]))
        for j in worst
        for row in np.flatnonzero(off[:, j])
    )
