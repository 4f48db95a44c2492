"""The formula as the core judges it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.target import Array, Doubles, Run, Target


def native_formula(session: Session, noise: Noise) -> core.Formula:
    """That of a check, made once."""
    if session.formula is None:
        has_copies = type(session.target).batched is not Target.batched
        session.formula = core.Formula(
            session.function,
            session.native_gradient,
            (session.cotangent(row) for row in range(session.num_cotangents)),
            session.outputs,
            session.rules,
            alone=session.alone,
            noise=session.noise_floor(noise.forward),
            seed=session.engine_seed,
            workers=session.workers,
            copies=_Copies(session) if has_copies else None,
            fewest_copies=session.target.smallest_batch,
        )
    return session.formula


class _Copies:
    """f at a copy of the point for each of some elements of an input."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(self, k: int, elements: Array) -> tuple[Run, Doubles] | None:
        session = self._session
        run = session.target.batched(k, elements, session.dtype)
        if run is None:
            return None
        x = flat([session.calls.point(session.dtype)[k]])[elements]
        at_point: list[list[Array]] = []

        def remembering(xs: Sequence[Doubles]) -> list[Array]:
            if at_point and np.array_equal(xs[0], x):
                return at_point[0]
            outputs = run(xs)
            if np.array_equal(xs[0], x):
                at_point.append(outputs)
            return outputs

        return remembering, x
