"""Whether f does not depend on an input at all, though every small step seems to change it.

A bias in front of a batch normalization is such an input: its derivative is 0, and what the steps
see is rounding, which grows as they shrink, and so looks like a kink or a jump.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import cast, flat, size_of
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import Doubles

_LARGEST_STEPS = 3
_NEAREST, _FARTHER = 8.0, 8.0  # times x: far away, and each time again
_FARTHEST = 0.75  # of the digits of the dtype: there, rounding of x leaves f a quarter of them
_BEYOND = 512.0  # times f, where a slope of 1 must be seen
_LEVELS = 40
_POINTS, _FEWEST = 12, 8
_ABOVE = 2.0  # roundings
_ORDERED = 0.25  # noise has 2, with a probability of 1e-6 that of 12 points is so small


def largest_slope(session: Session, k: int, noise: Doubles | None) -> Doubles:
    """[r, 1]: how steep f can be by one element of input `k`, as large steps of all of them show.

    Where f is as good as constant along a random direction that moves all elements, it is so along
    each.

    Args:
        session: The check.
        k: Of the input.
        noise: Of the outputs.
    """
    d = session.direction(k, 0)
    size = float(np.sqrt(np.mean(d * d)))
    slopes = []
    for row in range(session.num_cotangents):
        found = core.differentiate_along(
            session.function,
            session.along(k, d),
            [session.weights(row)],
            noise=noise,
            trace=True,
            workers=session.workers,
        )
        session.calls.forwards += found.evaluations
        levels = found.levels[:_LARGEST_STEPS]
        moves = [
            max(abs(plus - start), abs(minus - start)) / h for h, _, _, plus, minus, start in levels
        ]
        slopes.append(max(moves, default=float("inf")) / size)
    return np.array(slopes)[:, None]


@dataclass(frozen=True)
class Far:
    """What f does at large steps of all elements of an input along a random direction.

    Attributes:
        direction: [n], without unit.
        slopes: [r, 1], how steep the first move is that stands out of the rounding; None if there
            is none: f then does not depend on the input, as far as one can see.
        still: The largest step, in sizes of x, until which not a bit of f has moved.
        steepness: [r, 1], how steep f is at most between here and the first of these points.
    """

    direction: Doubles
    slopes: Doubles | None
    still: float
    steepness: Doubles

    def is_hidden_by(self, limit: Doubles) -> bool:
        """Whether f has a slope that derivatives which are known to `limit`, [r, n], may hide."""
        if self.slopes is None:
            return False
        return bool((np.abs(self.slopes[:, 0]) <= limit @ np.abs(self.direction)).any())


def far_away(session: Session, k: int) -> Far:
    """Looks at f where steps are so large that it cannot absorb them.

    f is evaluated at evenly spaced points along a random direction, further and further apart: a
    smooth move that stands out of the rounding is a dependence. What does not depend on x moves by
    rounding only, without order from one point to the next, however large x becomes (von Neumann,
    Ann. Math. Stat. 12 (1941) 367). If not a bit of f has moved so far, the steps grow until x is
    larger than f. Where f is not finite, or raises, nothing is seen.
    """
    part, dtype = session.target.inputs[k], session.dtype
    x = np.asarray(part.value).astype(np.float64)
    size = size_of(part.value)
    direction = stream(session.config.seed, part.name, "far away").standard_normal(x.shape)
    rows = np.array([session.weights(i) for i in range(session.num_cotangents)])
    farthest = max(
        size * UNIT[dtype] ** -_FARTHEST,
        _BEYOND * float(np.max(np.abs(flat(session.outputs)), initial=0.0)),
    )
    distance, still, moved = _NEAREST * size, 0.0, False
    steepness = np.full((len(rows), 1), np.inf)
    for _ in range(_LEVELS):
        if distance > farthest:
            break
        steps = distance / _POINTS * np.arange(_POINTS)
        outputs = _finite_outputs(session, k, [x + h * direction for h in steps])
        if outputs.shape[1] >= _FEWEST:
            slopes = np.ptp(rows @ outputs, axis=1, keepdims=True) / distance
            if distance == _NEAREST * size:
                steepness = slopes
            if not moved and np.ptp(outputs, axis=1).any():
                moved = True
                farthest = max(size * UNIT[dtype] ** -_FARTHEST, _FARTHER**2 * distance)
            still = still if moved else distance / size
            if any(_is_ordered(v[:, None] * outputs, 2 * UNIT[dtype]) for v in rows):
                return Far(direction.ravel(), slopes, still, steepness)
        distance *= _FARTHER
    return Far(direction.ravel(), None, still, steepness)


def _finite_outputs(session: Session, k: int, points: list[Doubles]) -> Doubles:
    """[m, at most as many as points]: f where it is finite."""
    found = []
    for point in points:
        xs = session.calls.point(session.dtype)
        xs[k] = cast(point, session.dtype)
        try:
            y = flat(session.calls.forward(session.dtype, xs))
        except Exception:  # an edge of the domain
            continue
        if y.shape == flat(session.outputs).shape and np.isfinite(y).all():
            found.append(y)
    return np.array(found).reshape(len(found), flat(session.outputs).size).T


def _is_ordered(outputs: Doubles, rounding: float) -> bool:
    """Whether outputs, [m, points], move by more than rounding, and much less from one to the next.

    All together: one alone may by chance seem ordered.
    """
    moves = np.ptp(outputs, axis=1)
    if np.sum(moves**2) <= np.sum((_ABOVE * rounding * np.max(np.abs(outputs), axis=1)) ** 2):
        return False
    steps = float(np.sum(np.diff(outputs, axis=1) ** 2))
    return steps < _ORDERED * float(np.sum((outputs - outputs.mean(1, keepdims=True)) ** 2))
