"""Kinks: where f has two one-sided derivatives, and every value between them is right."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.judge import JUMP, Judgement
from fluidcore.gradcheck.modes import Numerical
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.target import Doubles

_LOOKED_AT = 8  # elements
_LEVELS = 6  # the smallest steps at which the sides can be told apart
_FEWEST = 4
_APART = 4.0  # noises
_STEADY = 0.01  # of the difference between the sides


def settle_kinks(
    session: Session, k: int, judgement: Judgement, numerical: Numerical, noise: Doubles | None
) -> Judgement:
    """Looks again at elements that seem to be at a kink.

    A function that oscillates faster than the steps seems so, too: nothing can be said about it.
    At a kink the one-sided quotients tend to two numbers; what lies between them is right, and what
    does not, wrong.

    Args:
        session: The check.
        k: Of the input.
        judgement: [r, n].
        numerical: What it rests on.
        noise: Of the outputs.
    """
    at_kink = judgement.at_kink & ((judgement.reference.flags & JUMP) == 0) & judgement.counted
    doubtful = np.flatnonzero(at_kink & (judgement.unsure | judgement.wrong).any(0))
    if session.rules.on_kink != "subgradient" or doubtful.size == 0 or session.late:
        return judgement
    spread = np.linspace(0, doubtful.size - 1, min(_LOOKED_AT, doubtful.size)).astype(int)
    chosen = [int(numerical.elements[j]) for j in doubtful[spread]]
    if all(_has_two_sides(session, k, element, noise) for element in chosen):
        return replace(judgement, unsure=judgement.unsure & ~at_kink)
    unsure = judgement.unsure | (judgement.wrong & at_kink)
    return replace(judgement, wrong=judgement.wrong & ~at_kink, unsure=unsure)


def settle_directions(
    session: Session, k: int, judgement: Judgement, noise: Doubles | None
) -> Judgement:
    """The same for directions, [1, probes], each with a cotangent of its own."""
    at_kink = judgement.at_kink & ((judgement.reference.flags & JUMP) == 0) & judgement.counted
    wrong, unsure = judgement.wrong.copy(), judgement.unsure.copy()
    if session.rules.on_kink != "subgradient" or session.late:
        return judgement
    for probe in np.flatnonzero(at_kink & (wrong | unsure)[0]):
        d = session.direction(k, int(probe))
        if has_two_sides(session, k, d, int(probe), noise):
            unsure[0, probe] = False
        else:
            wrong[0, probe], unsure[0, probe] = False, True
    return replace(judgement, wrong=wrong, unsure=unsure)


class Sides(NamedTuple):
    """The one-sided derivatives along a direction, as far as they are known."""

    low: float
    high: float


def has_two_sides(
    session: Session, k: int, d: Doubles, cotangent: int, noise: Doubles | None
) -> bool:
    """Whether f has one-sided derivatives along d, [n]: the quotients of small steps agree."""
    return two_sides(session, k, d, cotangent, noise) is not None


def two_sides(
    session: Session, k: int, d: Doubles, cotangent: int, noise: Doubles | None
) -> Sides | None:
    """The two derivatives of f along d, [n]; None if it is smooth, or has none."""
    directions = session.along(k, d)
    weights = [session.weights(cotangent)]
    found = core.differentiate_along(
        session.function, directions, weights, noise=noise, trace=True, workers=session.workers
    )
    session.calls.forwards += found.evaluations
    levels = np.array(found.levels, dtype=np.float64).reshape(-1, 6)
    steps, _, noises, plus, minus, start = levels.T
    right, left = (plus - start) / steps, (start - minus) / steps
    gap = np.abs(right - left)
    seen = np.flatnonzero(2 * _APART * noises <= gap)[-_LEVELS:]
    if seen.size < _FEWEST:
        return None
    right, left = right[seen], left[seen]
    allowed = _STEADY * gap[seen[-1]] + _APART * np.max(noises[seen])
    if not (np.ptp(right) <= allowed and np.ptp(left) <= allowed):
        return None
    low, high = sorted((float(np.median(right)), float(np.median(left))))
    return Sides(low - allowed, high + allowed)


def _has_two_sides(session: Session, k: int, element: int, noise: Doubles | None) -> bool:
    d = np.zeros(session.target.inputs[k].value.size)
    d[element] = 1.0
    return has_two_sides(session, k, d, 0, noise)
