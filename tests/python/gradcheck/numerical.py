"""The numerical derivatives of one input, whatever its gradient is."""

from dataclasses import dataclass

import numpy as np
from judged import Reference

from fluidcore import core
from fluidcore.gradcheck.measure.modes import elements_of
from fluidcore.gradcheck.measure.native import native_formula
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session


@dataclass(frozen=True)
class Numerical:
    reference: Reference
    elements: np.ndarray
    evaluations: int
    failure: str | None


def formula_of(session: Session, noise=None) -> core.Formula:
    return native_formula(session, Noise(noise, [], False, ""))


def differentiate(session: Session, k: int, mode: str, noise=None) -> Numerical | None:
    """None where rows depend on each other."""
    formula = formula_of(session, noise)
    before, elements = formula.evaluations, elements_of(session, k)
    with core.TimeLimit(session.config.budget_s):
        found = formula.differentiate(
            k,
            elements,
            rows=session.target.inputs[k].rows if mode == "coloured" else 0,
            direction=lambda: session.direction(k, 0),
        )
    if found is None:
        return None
    evaluations = formula.evaluations - before
    return Numerical(Reference.of(found), elements, evaluations, found.failure)
