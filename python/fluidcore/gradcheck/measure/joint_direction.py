"""One direction of many inputs at once: where it agrees with all gradients, it proves them right.

An error in the gradient by input k shows as ⟨error, dₖ⟩ in the one number that is compared, so the
limit of that number is that of every input, over the length of dₖ. What is not proven that way is
left to a look at each input by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.report.data import Level
from fluidcore.gradcheck.target.calls import joined, size_of
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import SHADOW, Doubles

# Elements of a direction: of either sign, from 1/2 to 3/2, of few bits. None is nearly zero, so no
# wrong element can hide; and hardly any two are equal, so opposite errors do not cancel.
_SHORTEST = 0.5
_STEPS = np.concatenate([s * np.arange(512, 1536) / 1024 for s in (1.0, -1.0)])
_TOLERANCE = 1e-9  # of the terms: below it, a float64 formula is as good as any other
_ALONE = 2 * _TOLERANCE  # of a look at one input: its error bar is no longer than the tolerance
_DEVIATIONS = 5.0  # of a sum of errors with random signs
_BAR = 0.25  # of the tolerance: an error bar that is short enough
_GONE = np.zeros(0)
_LENGTHEN = 16.0  # at most, what moves f little
_SMALL = 0.01  # as in Reference.measure
_DETECTABLE = 1e-4  # of the root mean square, an error of one element that must be seen


class Proof(NamedTuple):
    """What one direction says of the gradient by one input.

    Attributes:
        analytical: ⟨A, d⟩.
        numerical: The same by differences, if the other inputs are right.
        error: Its error bar.
        resolution: The relative error of ⟨A, d⟩ that would have been reported.
        min_detectable_99: The error of any one element that would have been reported, relative to
            the root mean square of the gradient.
        levels: Step sizes along the direction of all inputs.
    """

    analytical: float
    numerical: float
    error: float
    resolution: float
    min_detectable_99: float
    levels: tuple[Level, ...]


class _Part(NamedTuple):
    """An input along its direction, of which ⟨A, d⟩, |A||d| and ‖A d‖ are known."""

    direction: Doubles
    length: float  # of its elements, 1 in the middle
    claimed: float
    absolute: float
    norm: float
    size: float  # root mean square of A

    def scaled(self, factor: float) -> _Part:
        if factor == 1:
            return self
        return self._replace(
            direction=self.direction * factor,
            length=self.length * factor,
            claimed=self.claimed * factor,
            absolute=self.absolute * factor,
            norm=self.norm * factor,
        )


def prove(session: Session, inputs: Sequence[int], noise: Noise) -> dict[int, Proof]:
    """The inputs whose gradients are right, as directions of several of them show.

    What a direction of all cannot resolve is looked at once more, without the others; where it
    disagrees, its halves are. Nothing is proven where f is not differentiated in float64, does not
    repeat itself, or may have no kink.

    Args:
        session: The check; all gradients are finite.
        inputs: Their indices.
        noise: What was measured.
    """
    proofs: dict[int, Proof] = {}
    kinks = session.config.on_kink
    if session.dtype != SHADOW or noise.forward is not None or kinks != "subgradient":
        return proofs
    pending, looks = [list(inputs)], 0
    while pending and not session.late:
        group = pending.pop()
        found = _look(session, group, looks) if group else {}
        looks += 1
        proofs |= found
        rest = [k for k in group if k not in found]
        if found:
            pending.append(rest)
        elif len(rest) > 1:
            pending += [rest[len(rest) // 2 :], rest[: len(rest) // 2]]
    return proofs


def _look(session: Session, group: Sequence[int], number: int) -> dict[int, Proof]:
    parts = _parts(session, group, number)
    if not parts:
        return {}
    norm = math.hypot(*(part.norm for part in parts.values()))
    absolute = sum(part.absolute for part in parts.values())
    claimed = sum(part.claimed for part in parts.values())
    tolerance = _TOLERANCE * min(absolute, _DEVIATIONS * norm)
    directions = {k: part.direction for k, part in parts.items()}
    parts = {k: part._replace(direction=_GONE) for k, part in parts.items()}
    along = core.slope_along(
        session.function,
        # One by one: the engine keeps what it takes.
        (directions.pop(k, None) for k in range(len(session.target.inputs))),
        joined(session.cotangent(0)),
        _BAR * tolerance,
        None if session.config.levels else claimed,
    )
    session.calls.forwards += along.evaluations
    value, error = along.value.item(), along.error.item()
    limit = session.rules.bars * error + tolerance
    if not abs(value - claimed) <= limit:
        return {}
    levels = tuple(
        Level(h, slope, spread, abs(plus - start - h * claimed))
        for h, slope, spread, plus, _, start in along.levels
    )
    proofs = {}
    for k, part in parts.items():
        # What is not proven is looked at alone, which must see it, too.
        alone = _ALONE * part.absolute
        visible = max(limit + abs(value - claimed), alone)
        resolution = visible / max(abs(part.claimed), _SMALL * part.absolute)
        unit = part.length * part.size
        alone /= core.blind_spot(session.config.probes) * unit
        detectable = max((limit + abs(value - claimed)) / (_SHORTEST * unit), alone)
        if resolution <= session.rules.resolution and detectable <= max(_DETECTABLE, alone):
            numerical = part.claimed + (value - claimed)
            proofs[k] = Proof(part.claimed, numerical, error, resolution, detectable, levels)
    return proofs


def _parts(session: Session, group: Sequence[int], number: int) -> dict[int, _Part]:
    """Directions that move each input by as much of itself, and then f about equally."""
    random = stream(session.config.seed, "", f"together {number}")
    parts = {}
    for k in group:
        gradient = session.gradients(0, session.dtype)[k]
        value = session.target.inputs[k].value
        length = _power_of_two(size_of(value))
        d = (length * _STEPS)[random.integers(0, _STEPS.size, value.size, dtype=np.uint16)]
        terms = gradient * d
        part = _Part(
            direction=d,
            length=length,
            claimed=float(terms.sum()),
            norm=_norm(terms),
            absolute=float(np.abs(terms, out=terms).sum()),
            size=_norm(gradient) / math.sqrt(value.size),
        )
        if 0 < part.norm < math.inf:
            parts[k] = part
    most = max((part.norm for part in parts.values()), default=0.0)
    return {
        k: part.scaled(_power_of_two(min(most / part.norm, _LENGTHEN))) for k, part in parts.items()
    }


def _norm(values: Doubles) -> float:
    return math.sqrt(float(values @ values))


def _power_of_two(number: float) -> float:
    """The largest that is not larger than a positive number."""
    return math.ldexp(0.5, math.frexp(number)[1])
