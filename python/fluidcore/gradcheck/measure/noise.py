"""How far f and its gradient repeat themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.target import Doubles


@dataclass(frozen=True)
class Noise:
    """What was measured.

    Attributes:
        forward: [m], what error bars must allow for in the outputs besides the rounding inside of
            f; None: nothing.
        backward: For each input [n], the standard deviation of its gradient.
        stochastic: Whether f is random, not just inexact.
        detail: What was seen, "" if every run gave the same bits.
        gradients: The runs of each gradient; none if it is known that they give the same bits.
    """

    forward: Doubles | None
    backward: list[Doubles]
    stochastic: bool
    detail: str
    gradients: Sequence[core.Repetition] = ()

    @cached_property
    def repeats(self) -> bool:
        """Whether the gradient has no error that varies."""
        return not any(spread.any() for spread in self.backward)


def measure(session: Session) -> Noise:
    """Runs f and the gradient again."""
    forward, stochastic, detail = _outputs(session)
    if stochastic:
        return Noise(None, [], stochastic, detail)
    runs = _gradients(session)
    firsts = session.gradients(0, session.dtype)
    backward = [_zeros(first) for first in firsts]
    for k, part in enumerate(runs):
        if not part.repeats:
            backward[k] = part.deviation
    rounding = session.target.rounding
    if rounding is not None:
        known = UNIT[session.dtype] * rounding.outputs
        forward = known if forward is None else np.maximum(forward, known)
        least = zip(backward, rounding.gradients, strict=True)
        backward = [np.maximum(spread, UNIT[session.dtype] * one) for spread, one in least]
    return Noise(forward, backward, stochastic, detail, runs)


def ulps(runs: core.Repetition, dtype: str) -> float:
    """The largest deviation in units of the last place of the largest value."""
    return runs.worst / (2 * UNIT[dtype] * runs.size) if runs.size else np.inf


def _outputs(session: Session) -> tuple[Doubles | None, bool, str]:
    first = flat(session.outputs)
    runs = core.Repetition(first, session.config.replicates)
    while runs.wants_more:
        again = flat(session.calls.again(session.outputs, session.dtype))
        if again.size != first.size:
            return None, True, "f has outputs of other shapes in a second run"
        runs.add(again)
    if runs.repeats:
        return None, False, ""
    how = "is random" if runs.is_random else "does not repeat itself"
    text = (
        f"f {how}: {runs.worst:.2g} apart in {runs.runs} runs, "
        f"{ulps(runs, session.dtype):.2g} ulps of the largest output"
    )
    return runs.margin, runs.is_random, text


def _gradients(session: Session) -> list[core.Repetition]:
    dtype, wanted = session.dtype, session.config.replicates
    first = session.gradients(0, dtype)
    if wanted == 2 and _scales(session):
        return []
    runs = [core.Repetition(part, wanted) for part in first]
    while any(part.wants_more for part in runs):
        again = session.gradient_of(session.cotangent(0), dtype)
        for part, values in zip(runs, again, strict=True):
            part.add(values)
    return runs


def _scales(session: Session) -> bool:
    """Whether −1/64 of the cotangent, which is audited anyway, gives −1/64 of the gradient.

    Then a second run has given the same bits.
    """
    is_audited = session.config.audits and not session.target.fixed_cotangent
    return is_audited and session.scaled(session.dtype).is_exact


def _zeros(part: Doubles) -> Doubles:
    return np.broadcast_to(np.zeros(()), part.shape)  # of large gradients none is stored
