"""Points whose f is that of x, but for a few rounding units of the dtype under test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import cast, flat
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles

_LEAST, _MOST = 1.0, 3.0  # units
_FARTHEST = 2.0**12  # times the element
_HALVINGS = 30
_SPLITS = 20
_SIGNS = 8
_PART = 0.1  # of a unit: what is nearer is x itself


@dataclass(frozen=True)
class Neighbour:
    """A point that differs from x in one element.

    Attributes:
        k: The input that has the element.
        element: Of the flattened input.
        step: What is added to it.
        xs: An array for each input, of the dtype under test.
    """

    k: int
    element: int
    step: float
    xs: list[Array]


def unit_of(session: Session) -> float:
    """A rounding unit of f: of the largest output, or of the terms that cancel out in it.

    These show where the inputs have other signs.
    """
    size = float(np.max(np.abs(flat(session.outputs)), initial=0.0))
    for values in with_other_signs(session, SHADOW):
        size = max(size, float(np.max(np.abs(values), initial=0.0)))
    return UNIT[session.target.dtype] * size


def with_other_signs(session: Session, dtype: str) -> list[Doubles]:
    """The outputs, [m], where the inputs have random signs; 0 for those that are not finite there.

    Points that are out of the domain of f are left out.
    """
    found = []
    for q in range(_SIGNS):
        xs = []
        for part in session.target.inputs:
            random = stream(session.config.seed, part.name, f"signs {q}")
            x = np.asarray(part.value).astype(np.float64)
            xs.append(cast(x * random.choice([-1.0, 1.0], x.shape), dtype))
        try:
            values = flat(session.calls.forward(xs, dtype))
        except Exception:
            continue  # outside of the domain of f
        if values.shape == flat(session.outputs).shape:
            found.append(np.where(np.isfinite(values), values, 0.0))
    return found


def neighbours(
    session: Session, coordinates: Sequence[tuple[int, int]], unit: float
) -> list[Neighbour]:
    """Points that differ from x in one element, so far that f changes by 1 to 3 rounding units.

    Behind a saturated function an element must go far before any intermediate result of the dtype
    changes at all. There is no point where f never changes; and none is needed where the root of a
    rounding unit is enough: there the rounding errors of dithered points are independent.

    Args:
        session: The check; f is evaluated in float64.
        coordinates: (input, element of it) that are moved, to either side.
        unit: Of f.
    """
    found = []
    for k, element in coordinates:
        for sign in (1.0, -1.0):
            side = _Side(session, k, element, sign, unit)
            step = side.search()
            if step is not None:
                found.append(Neighbour(k, element, sign * step, side.at(step)))
    return found


def between(session: Session, end: Neighbour, unit: float) -> list[Neighbour]:
    """Points on the way from x to a neighbour: f changes by about the same from one to the next."""
    side = _Side(session, end.k, end.element, float(np.sign(end.step)), unit)
    random = stream(session.config.seed, session.target.inputs[end.k].name, f"way {end.element}")
    known = [(0.0, 0.0), (abs(end.step), side.change(abs(end.step)))]
    for _ in range(_SPLITS):
        ways = [abs(b[1] - a[1]) for a, b in pairwise(known)]
        j = int(np.argmax(ways))
        step = known[j][0] + random.uniform(0.3, 0.7) * (known[j + 1][0] - known[j][0])
        known.insert(j + 1, (step, side.change(step)))
    found: dict[bytes, Neighbour] = {}
    for step, change in known:
        if _PART <= change <= _MOST:
            xs = side.at(step)
            key = xs[end.k].tobytes()
            found[key] = Neighbour(end.k, end.element, float(np.sign(end.step)) * step, xs)
    return list(found.values())


class _Side:
    """An element that moves to one side."""

    def __init__(self, session: Session, k: int, element: int, sign: float, unit: float) -> None:
        self._session, self._k, self._element, self._sign = session, k, element, sign
        self._start = flat(session.outputs)
        self._unit = unit
        x = np.asarray(session.target.inputs[k].value).astype(np.float64)
        self._size = max(abs(float(x.flat[element])), float(np.sqrt(np.mean(x * x)))) or 1.0
        self._first = float(np.sqrt(UNIT[session.target.dtype])) * self._size

    def search(self) -> float | None:
        """The step, if there is one: first ever larger steps, then halves."""
        short, step = 0.0, self._first
        if self._unit == 0 or self.change(step) > _MOST:
            return None
        while (change := self.change(step)) < _LEAST:
            short, step = step, 4 * step
            if step > _FARTHEST * self._size:
                return None
        long = step
        for _ in range(_HALVINGS):
            if _LEAST <= change <= _MOST:
                return step
            step = (short + long) / 2
            change = self.change(step)
            short, long = (step, long) if change < _LEAST else (short, step)
        return None

    def at(self, step: float) -> list[Array]:
        """The point after a step."""
        xs = self._session.calls.point(self._session.target.dtype)
        moved = np.array(xs[self._k], order="C")  # the point may be the target's own arrays
        moved.flat[self._element] = float(moved.flat[self._element]) + self._sign * step
        xs[self._k] = moved
        return xs

    def change(self, step: float) -> float:
        """By how many units f differs after a step."""
        xs = [cast(x, SHADOW) for x in self.at(step)]
        try:
            values = flat(self._session.calls.forward(xs, SHADOW))
        except Exception:
            return np.inf  # outside of the domain of f
        if not np.isfinite(values).all():
            return np.inf
        return float(np.max(np.abs(values - self._start))) / self._unit
