"""Rounding inside of a float64 f, measured where f seems to jump."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.judge import JUMP, Reference
from fluidcore.gradcheck.modes import Numerical
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.target import SHADOW, Doubles

_DEVIATIONS = 3.0


def settle_jumps(
    session: Session, k: int, numerical: Numerical, noise: Doubles | None
) -> Numerical:
    """Looks again, with the noise that f has, at elements where an output seems to jump.

    In float64 an output is taken to be as exact as its own last digit. One that does not depend
    much on an element, and whose intermediate results cancel, as in the softmax of large numbers,
    then moves in steps of rounding. What is smooth but for the noise has longer error bars; a true
    jump stays one.

    Args:
        session: The check.
        k: Of the input.
        numerical: Its derivatives.
        noise: Of the outputs; something is done only if it is None, rounding alone.
    """
    jumps = np.flatnonzero(numerical.reference.flags & JUMP)
    if jumps.size == 0 or session.dtype != SHADOW or noise is not None or session.late:
        return numerical
    inner = core.measure_noise(session.function, seed=session.config.seed % 2**32)
    spread = _DEVIATIONS * np.asarray(inner, dtype=np.float64)
    if not spread.any():
        return numerical
    found = core.differentiate(
        session.function,
        k,
        [session.weights(i) for i in range(session.num_cotangents)],
        elements=numerical.elements[jumps],
        noise=spread,
        workers=session.workers,
    )
    session.calls.forwards += found.evaluations
    again = Reference.of(found)
    smooth = (again.flags == 0) & np.isfinite(again.error).all(0)
    parts = [part.copy() for part in numerical.reference.numbers]
    for part, new in zip(parts, again.numbers, strict=True):
        part[:, jumps[smooth]] = new[:, smooth]
    flags = numerical.reference.flags.copy()
    flags[jumps[smooth]] = 0
    return replace(
        numerical,
        reference=Reference(*parts, flags),
        evaluations=numerical.evaluations + found.evaluations,
    )
