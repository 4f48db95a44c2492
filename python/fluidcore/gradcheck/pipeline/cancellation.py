"""Errors that are below the rounding of terms that cancel out in f."""

from __future__ import annotations

import numpy as np

from fluidcore.gradcheck.measure.judge import Judgement
from fluidcore.gradcheck.measure.modes import Numerical
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import cast, flat
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import SHADOW, Doubles

_POINTS = 8
_SIGNS = 8
_PART = 2.0**-6  # of x, that they are away
_FINEST = 2.0**14  # x over the finest steps, and a factor of 2
_TERMS = 64.0  # times the last digit, that terms may be rounded by
_DIGITS = 53


def settle_grid(session: Session, k: int, judgement: Judgement, numerical: Numerical) -> Judgement:
    """Nothing can be said where an element is off by no more than the grid of f hides.

    The sum of tanh(x) is 0 where there are as many 1 as -1. Its rounding is that of 1, though, as
    the binary digits of its values show: all are multiples of one number. Beside the steps, that is
    how far a derivative may be off, whatever the size of f says. Only in float64: elsewhere noise
    is measured, and steps are coarser.

    Args:
        session: The check.
        k: Of the input.
        judgement: [r, n].
        numerical: What it rests on.
    """
    if session.dtype != SHADOW or judgement.is_proven or session.late:
        return judgement
    doubtful = (judgement.wrong & (judgement.excess > 1)) | judgement.unsure
    if not doubtful.any():
        return judgement
    grid = _grid(session)
    x = np.abs(np.asarray(session.target.inputs[k].value).astype(np.float64)).ravel()
    size = np.maximum(x, float(np.sqrt(np.mean(x * x))))[numerical.elements]
    rows = [np.abs(session.weights(i)) @ grid for i in range(session.num_cotangents)]
    with np.errstate(divide="ignore"):
        bar = session.rules.bars * _FINEST * np.array(rows)[:, None] / size
    limit = judgement.limit + np.where(size > 0, bar, 0.0)
    open_ = doubtful & (np.abs(judgement.analytical - judgement.nearest) <= limit)
    return judgement.opened(open_, limit=limit)


def _grid(session: Session) -> Doubles:
    """[m]: the rounding of each output, by the last digit of all of its values near x.

    Where that is more than a unit of them, larger terms have cancelled out; these show where the
    inputs have other signs. More than half of their digits are no rounding: a function that counts
    has that of any other.
    """
    dtype, seed = session.dtype, session.config.seed
    runs = [flat(session.outputs)]
    for q in range(_POINTS):
        xs = [
            x.astype(np.float64)
            * (1 + _PART * stream(seed, part.name, f"grid {q}").uniform(-1, 1, x.shape))
            for part, x in zip(session.target.inputs, session.calls.point(dtype), strict=True)
        ]
        try:
            values = flat(session.calls.forward(dtype, [cast(x, dtype) for x in xs]))
        except Exception:
            continue  # outside of the domain of f
        if values.shape == runs[0].shape:
            runs.append(np.where(np.isfinite(values), values, 0.0))
    unit = 2 * UNIT[dtype]
    rounding: Doubles = unit * np.max(np.abs(runs), axis=0)
    terms = unit * np.max(np.abs([*runs, *with_other_signs(session, dtype)]), axis=0)
    last = np.min([_last_digit(values) for values in runs], axis=0)
    cancels = (last > rounding) & (last <= terms / np.sqrt(UNIT[dtype]))
    found = np.where(cancels, np.clip(terms, last, _TERMS * last), rounding)
    return np.where(np.isinf(last), terms, found)


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
            values = flat(session.calls.forward(dtype, xs))
        except Exception:
            continue  # outside of the domain of f
        if values.shape == flat(session.outputs).shape:
            found.append(np.where(np.isfinite(values), values, 0.0))
    return found


def _last_digit(values: Doubles) -> Doubles:
    """The greatest power of two that each is a multiple of; inf for 0."""
    fraction, exponent = np.frexp(values)
    whole = np.ldexp(fraction, _DIGITS).astype(np.int64)
    last = np.ldexp((whole & -whole).astype(np.float64), exponent - _DIGITS)
    return np.where(values == 0, np.inf, last)
