"""The Taylor remainder along a direction: it shows the order in which a wrong gradient is wrong.

R(h) = |φ(h) - φ(0) - h⟨A, d⟩| with φ(h) = ⟨v, f(x + hd)⟩ falls like h² if A is the gradient, like h
if it is not.
"""

from __future__ import annotations

from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.report.data import Level
from fluidcore.gradcheck.target.target import Doubles


def trace(session: Session, k: int, noise: Doubles | None) -> tuple[Level, ...]:
    """The levels along a random direction of input `k`."""
    found = session.traced(k, noise)
    claimed = float(session.gradients(0, session.dtype)[k] @ session.direction(k, 0))
    return tuple(
        Level(h, slope, spread, abs(plus - start - h * claimed))
        for h, slope, spread, plus, _, start in found.levels
    )
