"""The rounding of a gradient that has no float64 form to compare with."""

from __future__ import annotations

import numpy as np

from fluidcore.gradcheck.measure.judge import Judgement
from fluidcore.gradcheck.measure.modes import Numerical
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import cast
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import Doubles

_PAIRS = 6
_CERTAIN = 4.0  # standard deviations
_WIDEST = 2.0**-6


def settle_rounding(
    session: Session, k: int, judgement: Judgement, numerical: Numerical
) -> Judgement:
    """Nothing can be said where a gradient seems wrong by no more than its own rounding.

    Terms that cancel leave errors that are large beside the sum, and the differences of f do not
    show them. The gradient at x + d and at x - d, averaged, is that at x but for rounding: rounding
    errors differ from point to point, and a bug does not. As in the test of a kernel, d is √u of x;
    and more where f does not move at all: rounding may be one and the same in a neighbourhood.

    Args:
        session: The check; only without a float64 form something is done.
        k: Of the input.
        judgement: [r, n].
        numerical: What it rests on.
    """
    wrong = judgement.wrong
    if not session.alone or not wrong.any() or session.late:
        return judgement
    is_still = not judgement.reference.scale.any()
    size = _WIDEST if is_still else min(float(np.sqrt(UNIT[session.dtype])), _WIDEST)
    rounding = _rounding(session, k, size)[:, numerical.elements]
    limit = judgement.limit + np.where(wrong, _CERTAIN * rounding, 0.0)
    with np.errstate(invalid="ignore"):
        is_near = np.abs(judgement.analytical - judgement.nearest) <= limit
    return judgement.opened(wrong & is_near & (judgement.excess > 1), limit=limit)


def _rounding(session: Session, k: int, size: float) -> Doubles:
    """[r, n]: the root mean square of what the averages are off."""
    dtype, seed = session.dtype, session.config.seed
    squares = np.zeros((session.num_cotangents, session.target.inputs[k].value.size))
    for pair in range(_PAIRS):
        moves = [
            size * stream(seed, part.name, f"own rounding {pair}").uniform(-1, 1, part.value.shape)
            for part in session.target.inputs
        ]
        sides = [_moved(session, moves, sign) for sign in (1.0, -1.0)]
        for row in range(session.num_cotangents):
            v = session.cotangent(row)
            values = [session.calls.sample(xs, v, dtype)[k] for xs in sides]
            with np.errstate(invalid="ignore", over="ignore"):
                off = np.mean(values, axis=0) - session.gradients(row, dtype)[k]
            squares[row] += np.where(np.isfinite(off), off, 0.0) ** 2
    return np.asarray(np.sqrt(squares / _PAIRS))


def _moved(session: Session, moves: list[Doubles], sign: float) -> list[Doubles]:
    return [
        cast(x.astype(np.float64) * (1 + sign * move), session.dtype)
        for x, move in zip(session.calls.point(session.dtype), moves, strict=True)
    ]
