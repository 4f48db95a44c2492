"""Rounding inside of a float64 f, measured where f seems to jump."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.judge import JUMP, Mask, Reference
from fluidcore.gradcheck.modes import Indices, Mode, Numerical
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.target import SHADOW, Doubles

_LARGE = 256  # elements
_FEW = 8


def noise_of_most(session: Session, k: int, mode: Mode, noise: Doubles | None) -> Doubles | None:
    """The noise to begin with: that inside of f, if most of a few elements seem to jump without it.

    A look at an element that seems to jump takes six times as long as one at a smooth one.

    Args:
        session: The check.
        k: Of the input.
        mode: In which it is looked at.
        noise: Of the outputs; None for rounding alone.
    """
    size = session.target.inputs[k].value.size
    if mode != "full" or size < _LARGE or session.config.subset is not None:
        return noise
    if session.dtype != SHADOW or noise is not None or session.late:
        return noise
    few = np.linspace(0, size - 1, _FEW).astype(np.int64)
    jumps = few[_differentiated(session, k, few, None)[0].flags & JUMP != 0]
    if 2 * jumps.size <= few.size:
        return noise
    inner = session.inner_noise
    if not inner.any():
        return noise
    smooth = _is_smooth(session, _differentiated(session, k, jumps, inner)[0])
    return inner if 2 * np.count_nonzero(smooth) > jumps.size else noise


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
    inner = session.inner_noise
    if not inner.any():
        return numerical
    again, evaluations = _differentiated(session, k, numerical.elements[jumps], inner)
    smooth = _is_smooth(session, again)
    reference = numerical.reference
    value, error, low, high, scale = (
        _replaced(old, jumps[smooth], new[:, smooth])
        for old, new in zip(reference.numbers, again.numbers, strict=True)
    )
    flags = reference.flags.copy()
    flags[jumps[smooth]] = 0
    return replace(
        numerical,
        reference=replace(
            reference, value=value, error=error, low=low, high=high, scale=scale, flags=flags
        ),
        evaluations=numerical.evaluations + evaluations,
    )


def _is_smooth(session: Session, found: Reference) -> Mask:
    """[n]; a noise that would hide a jump leaves no derivative that is worth anything."""
    short = found.error <= session.rules.resolution * found.measure
    smooth: Mask = (found.flags == 0) & short.all(0)
    return smooth


def _replaced(values: Doubles, columns: Indices, by: Doubles) -> Doubles:
    copy = values.copy()
    copy[:, columns] = by
    return copy


def _differentiated(
    session: Session, k: int, elements: Indices, noise: Doubles | None
) -> tuple[Reference, int]:
    found = core.differentiate(
        session.function,
        k,
        [session.weights(i) for i in range(session.num_cotangents)],
        elements=elements,
        noise=noise,
        workers=session.workers,
    )
    session.calls.forwards += found.evaluations
    return Reference.of(found), found.evaluations
