"""Derivatives found with other steps: a function that is smooth has the same ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.judge import KINK, Judgement, Mask, Reference
from fluidcore.gradcheck.modes import Indices, Numerical
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.target import SHADOW, Doubles

_LOOKED_AT = 16  # elements
_FACTORS = (79 / 128, 101 / 128, 165 / 128)  # of the steps: few bits, no powers of two apart
_APART = 1e-6  # of the derivatives, beside their error bars


def settle_steps(
    session: Session, k: int, judgement: Judgement, numerical: Numerical, noise: Doubles | None
) -> Judgement:
    """Looks again, with other steps, at elements that seem wrong.

    The steps are powers of two apart, and so a sine of many periods per step can look smooth by
    chance, with a derivative that has nothing to do with its own: sin(x) at 1e10. With other steps
    it is another number. Nothing can be said then, as at a kink that cannot be resolved. A little
    apart, the numbers show how far the error bar is off: one of a million is too short. Only in
    float64: other steps are too coarse in a dtype with fewer digits.

    Args:
        session: The check.
        k: Of the input.
        judgement: [r, n].
        numerical: What it rests on.
        noise: Of the outputs.
    """
    suspects = np.flatnonzero((judgement.wrong & (judgement.excess > 1)).any(0))
    if suspects.size == 0 or session.late or session.dtype != SHADOW:
        return judgement
    spread = np.linspace(0, suspects.size - 1, min(_LOOKED_AT, suspects.size)).astype(int)
    looked_at = suspects[spread]
    apart = np.array([_apart(session, k, numerical, int(j), noise) for j in looked_at])
    judgement = _with_longer_bars(judgement, session.rules.bars, looked_at, apart)
    differs = ~np.isfinite(apart).all(1)
    if not differs.any():
        return judgement
    reference = judgement.reference
    column: Mask = np.zeros(judgement.wrong.shape[1], dtype=np.bool_)
    column[suspects if differs.all() else looked_at[differs]] = True
    return replace(
        judgement,
        reference=replace(
            reference,
            error=np.where(column, np.inf, reference.error),
            flags=reference.flags | np.where(column, KINK, 0).astype(np.uint8),
        ),
        wrong=judgement.wrong & ~column,
        unsure=judgement.unsure | (judgement.counted & column),
    )


def _with_longer_bars(
    judgement: Judgement, bars: float, elements: Indices, apart: Doubles
) -> Judgement:
    """Error bars of some elements that reach as far as other steps lead; apart: [elements, r]."""
    reference = judgement.reference
    error = reference.error.copy()
    error[:, elements] = np.maximum(error[:, elements], np.where(np.isfinite(apart), apart, 0).T)
    limit = judgement.limit + bars * (error - reference.error)
    distance = np.abs(judgement.analytical - judgement.nearest)
    return replace(
        judgement,
        reference=replace(reference, error=error),
        limit=limit,
        wrong=judgement.wrong & (distance > limit),
    )


def _apart(
    session: Session, k: int, numerical: Numerical, j: int, noise: Doubles | None
) -> Doubles:
    """[r]: how far derivatives of one element with other steps are away; inf: out of all reason."""
    found = numerical.reference.only(j)
    weights = [session.weights(i) for i in range(session.num_cotangents)]
    farthest = np.zeros(len(weights))
    for factor in _FACTORS:
        d = np.zeros(session.target.inputs[k].value.size)
        d[numerical.elements[j]] = factor
        along = core.differentiate_along(
            session.function, session.along(k, d), weights, noise=noise, workers=session.workers
        )
        session.calls.forwards += along.evaluations
        other = Reference.of(along)
        low, high, error = other.low / factor, other.high / factor, other.error / factor
        size = np.maximum(np.abs(found.value), np.abs(other.value / factor))
        limit = session.rules.bars * (error + found.error) + _APART * size
        with np.errstate(invalid="ignore"):
            distance = np.maximum(np.maximum(low - found.high, found.low - high), 0.0)
            farthest = np.maximum(farthest, np.where(distance > limit, np.inf, distance)[:, 0])
    return farthest
