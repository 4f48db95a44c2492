"""The Taylor remainder along directions: a second opinion that needs no step size.

R(h) = |φ(h) - φ(0) - h⟨A, d⟩| with φ(h) = ⟨v, f(x + hd)⟩ falls like h² if A is the gradient, like h
if it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from fluidcore.gradcheck.judge import DOMAIN, JUMP, KINK, Reference
from fluidcore.gradcheck.report.result import Level
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.target import Doubles
from fluidcore.gradcheck.verdict import Verdict

_RIGHT, _WRONG = 1.8, 1.3
_ABOVE = 10.0  # times the noise, remainders are seen
_SHORTEST = 3  # levels that make a slope
_CONVERGING = 4  # levels of which each must change the quotient less than the one before
_CALMING = 0.5  # where a smooth function has 1/4


class Opinion(NamedTuple):
    """What the remainders say.

    Attributes:
        verdict: By the slope.
        slope: Of log R over log h; nan if R is nowhere above the noise.
        resolution: The smallest relative error of ⟨A, d⟩ that would have bent it.
    """

    verdict: Verdict
    slope: float
    resolution: float


def opinion(levels: Sequence[Level], claimed: float) -> Opinion:
    """Judges by the slope of the longest row of levels that stands out of the noise.

    Args:
        levels: With falling steps.
        claimed: ⟨A, d⟩.
    """
    if not levels:
        return Opinion(Verdict.INCONCLUSIVE, float("nan"), float("inf"))
    floors = [_ABOVE * level.noise * level.step for level in levels]
    least = min(
        max(level.remainder, floor) / level.step
        for level, floor in zip(levels, floors, strict=True)
    )
    resolution = least / abs(claimed) if claimed else float("inf")
    if all(level.remainder <= floor for level, floor in zip(levels, floors, strict=True)):
        return Opinion(Verdict.PASS, float("nan"), resolution)
    window = _longest(
        [level.remainder > floor for level, floor in zip(levels, floors, strict=True)]
    )
    if window.stop - window.start < _SHORTEST:
        return Opinion(Verdict.INCONCLUSIVE, float("nan"), resolution)
    steps = np.log([level.step for level in levels[window]])
    remainders = np.log([level.remainder for level in levels[window]])
    slope = float(np.polyfit(steps, remainders, 1)[0])
    if slope >= _RIGHT:
        return Opinion(Verdict.PASS, slope, resolution)
    wrong = slope <= _WRONG and _converge(levels[window])
    return Opinion(Verdict.FAIL if wrong else Verdict.INCONCLUSIVE, slope, resolution)


def trace(
    session: Session, k: int, probe: int, noise: Doubles | None
) -> tuple[tuple[Level, ...], Reference, float]:
    """The levels along a random direction, what they say, and ⟨A, d⟩."""
    found = session.traced(k, probe, noise)
    claimed = float(session.gradients(probe, session.dtype)[k] @ session.direction(k, probe))
    levels = tuple(
        Level(h, slope, spread, abs(plus - start - h * claimed))
        for h, slope, spread, plus, _, start in found.levels
    )
    return levels, Reference.of(found), claimed


def second_opinion(session: Session, k: int, noise: Doubles | None) -> Opinion:
    """Of all directions together: PASS needs all, and the wanted resolution; FAIL a clear one.

    A kink bends the remainder like an error, so where there is one, nothing is said; nor where f
    stands still, for its rounding may hide the slope.
    """
    opinions = []
    for probe in range(session.config.probes):
        levels, reference, claimed = trace(session, k, probe, noise)
        is_still = reference.scale[0, 0] == 0 and claimed != 0
        if reference.flags[0] & (KINK | JUMP | DOMAIN) or is_still or session.late:
            return Opinion(Verdict.INCONCLUSIVE, float("nan"), float("inf"))
        found = opinion(levels, claimed)
        distance = max(reference.low[0, 0] - claimed, claimed - reference.high[0, 0])
        certain = distance > session.rules.bars * reference.error[0, 0]
        if found.verdict is Verdict.FAIL and certain:
            return found
        if found.verdict is Verdict.FAIL or found.resolution > session.rules.resolution:
            found = found._replace(verdict=Verdict.INCONCLUSIVE)
        opinions.append(found)
    worst = max(opinions, key=lambda one: one.resolution)
    return worst._replace(verdict=Verdict.together(one.verdict for one in opinions))


def _converge(levels: Sequence[Level]) -> bool:
    """Whether the quotients change less and less: else all steps are too large for f."""
    last = levels[-_CONVERGING:]
    changes = [abs(b.difference - a.difference) for a, b in pairwise(last)]
    noises = [a.noise + b.noise for a, b in pairwise(last)]
    return all(
        after <= _CALMING * before + noise
        for before, after, noise in zip(changes, changes[1:], noises[1:], strict=False)
    )


def _longest(above: Sequence[bool]) -> slice:
    """The longest row of true ones; there is one."""
    parts = groupby(range(len(above)), above.__getitem__)
    rows = [list(part) for is_above, part in parts if is_above]
    longest = max(rows, key=len)
    return slice(longest[0], longest[-1] + 1)
