"""Gradients that are infinite because their dtype ends, where there is no float64 form to tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.flags import Mask
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.precision import LARGEST
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict

_LOOKED_AT = 16  # elements


def overflown(
    session: Session, k: int, index: int, gradient: Doubles, noise: Doubles | None
) -> Mask | None:
    """[n]: the infinite elements of a gradient, if the derivatives say that they may be so large.

    Args:
        session: The check.
        k: Of the input.
        index: Of the cotangent.
        gradient: [n], the claimed one, not finite.
        noise: Of the outputs.

    Returns:
        None if an element is wrong: it is not a number, or of another sign, or the derivative is
        known to be a number of the dtype; or if float64 is judged, whose numbers do not end here.
    """
    infinite: Mask = np.isinf(gradient)
    if not session.alone or session.dtype == "float64" or np.isnan(gradient).any():
        return None
    every = np.flatnonzero(infinite)
    looked_at = every[np.linspace(0, every.size - 1, min(_LOOKED_AT, every.size)).astype(int)]
    weights = [session.weights(index)]
    found = core.differentiate(session.function, k, weights, elements=looked_at, noise=noise)
    session.calls.forwards += found.evaluations
    most = np.where(np.signbit(gradient[looked_at]), -found.low[0], found.high[0])
    most += session.rules.bars * found.error[0]  # endless where there is no derivative
    return infinite if (most >= LARGEST[session.dtype]).all() else None


def with_overflow(
    result: GradCheckResult, overflow: Mask, values: Doubles | None = None
) -> GradCheckResult:
    """INCONCLUSIVE, unless another element is wrong; `values` are derivatives that overflow."""
    if not overflow.any() or result.verdict is Verdict.FAIL:
        return result
    example = ""
    if values is not None:
        values = values[np.isfinite(values)]
        example = f", {values[np.argmax(np.abs(values))]:.6g}," if values.size else ""
    detail = f"overflow: the gradient{example} is larger than any {result.dtype}"
    count = f"{np.count_nonzero(overflow)} of {overflow.size} elements"
    return replace(
        result,
        verdict=Verdict.INCONCLUSIVE,
        reasons=(Reason.DOMAIN, *(one for one in result.reasons if one is not Reason.DOMAIN)),
        resolution=float("inf"),
        min_detectable_99=float("inf"),
        detail="; ".join(text for text in (f"{detail} at {count}", result.detail) if text),
    )
