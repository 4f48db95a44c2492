"""Gradients of 0 that rounding forbids to see exactly.

So it is with a constant that is added before a normalization: f does not depend on it, and what the
differences show is rounding. Such a gradient is judged by f over x.
"""

from __future__ import annotations

import numpy as np

from fluidcore.gradcheck.measure.judge import ABSORBED, DOMAIN, Judgement, Reference, has_kink
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline.independence import far_away, largest_slope
from fluidcore.gradcheck.target.calls import flat, size_of
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.target import SHADOW, Doubles
from fluidcore.gradcheck.verdict import Verdict

_VISIBLE = 0.01  # a slope that must be seen where f seems to have none
_ROUNDINGS = 16.0
_OWN_ROUNDINGS = 1024.0  # of a gradient, whose terms may be larger than f over x
_NEGLIGIBLE = 1e-3  # the part of f / x that a gradient of 0 must be below, times the resolution


def heights_of(session: Session, k: int) -> Doubles:
    """[r, 1]: f over x, which is the size of a derivative that is not small."""
    size = size_of(session.target.inputs[k].value)
    values = np.abs(flat(session.outputs))
    rows = [
        float(np.sum(np.abs(session.weights(i)) * values)) for i in range(session.num_cotangents)
    ]
    return np.array(rows)[:, None] / size


def with_absorption(
    session: Session, k: int, reference: Reference, claimed: Doubles, heights: Doubles
) -> Reference:
    """Flags elements that never moved f, where f is so large that it could not show a move.

    Where f is 1e16 times x and more, a step of x vanishes in the rounding of f. That does not
    matter where the gradient is claimed to be 0, too, and much larger steps do not move f either.
    """
    if session.dtype != SHADOW:
        return reference  # the engine has seen to it
    still = (reference.scale == 0) & (reference.error == 0) & (heights * UNIT[SHADOW] > 1)
    hidden = still & (claimed != 0)
    if still.any() and not hidden.any():
        limit = np.broadcast_to(UNIT[SHADOW] * heights, still.shape)
        hidden = still & far_away(session, k).is_hidden_by(limit)
    return reference.unknown_at(hidden, ABSORBED)


def settle_zero(
    session: Session, k: int, judgement: Judgement, heights: Doubles, noise: Noise
) -> tuple[Judgement, bool]:
    """The judgement, and whether the gradient is 0 as far as f tells.

    Not where f moves once the steps are much larger, in a way that is no rounding: f does depend on
    the input then, and has absorbed the smaller steps.
    """
    if not (judgement.unsure | judgement.wrong).any() or session.late:
        return judgement, False
    holds, is_flat = _bars_hold_0(judgement, heights), _is_flat(session, judgement, heights)
    if not (holds or is_flat):
        return judgement, False
    far, bars = far_away(session, k), session.rules.bars
    limits = [judgement.limit] if holds else []
    if is_flat:
        steepness = np.minimum(largest_slope(session, k, noise.forward), far.steepness)
        limits.append(bars * steepness + _ROUNDINGS * UNIT[session.dtype] * heights)
    if far.is_hidden_by(np.max(np.broadcast_arrays(judgement.limit, *limits), axis=0)):
        return judgement.opened(judgement.unsure | judgement.wrong, flag=ABSORBED), False
    if far.still > 0:
        limits.append(2 * bars * UNIT[session.dtype] * heights / far.still)
    limit = np.min(np.broadcast_arrays(*limits), axis=0)
    is_seen = np.abs(judgement.analytical) > limit + _OWN_ROUNDINGS * UNIT[session.dtype] * heights
    if (limit > session.rules.resolution * _NEGLIGIBLE * heights).any():
        return judgement, False
    if is_seen.any():  # more than rounding, and f is too flat to tell
        return judgement.opened(judgement.unsure | judgement.wrong, flag=ABSORBED), False
    return judgement.accepted(limit), True


def _bars_hold_0(judgement: Judgement, heights: Doubles) -> bool:
    """Whether neither the derivatives nor the gradient can be told from 0 by the error bars."""
    if judgement.verdict is not Verdict.INCONCLUSIVE or not judgement.counted.any():
        return False
    limit, flags = judgement.limit, judgement.reference.flags
    zero = (np.abs(judgement.reference.value) <= limit) & (np.abs(judgement.analytical) <= limit)
    zero &= (heights > 0) & ((flags | ABSORBED) == ABSORBED)
    return bool(zero[:, judgement.counted].all())


def _is_flat(session: Session, judgement: Judgement, heights: Doubles) -> bool:
    """Whether the gradient is nothing beside f / x, and the differences may be rounding."""
    reference, claimed = judgement.reference, np.abs(judgement.analytical)
    rounding = _ROUNDINGS * UNIT[session.dtype] * heights
    zero = (claimed <= session.rules.resolution * _NEGLIGIBLE * heights) & (heights > 0)
    seen = np.abs(reference.value) > session.rules.bars * reference.error + rounding
    zero &= (rounding < _VISIBLE) & (has_kink(reference.flags) | ~seen)
    return bool(zero.all() and not (reference.flags & DOMAIN).any())
