"""Gradients that are infinite, and may be: their dtype ends, or the derivative has no end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.flags import Mask
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict


def overflown(
    session: Session, k: int, index: int, gradient: Doubles, noise: Doubles | None
) -> Mask | None:
    """[n]: where a gradient that is not finite may be infinite; None if an element is wrong.

    Args:
        session: The check.
        k: Of the input.
        index: Of the cotangent.
        gradient: [n], the claimed one.
        noise: [m], of the outputs, besides the rounding inside of f.
    """
    found, evaluations = core.check_infinite(
        session.function,
        k,
        gradient,
        session.weights(index),
        bars=session.rules.bars,
        noise=session.noise_floor(noise).near,
    )
    session.calls.forwards += evaluations
    return found


def with_overflow(
    result: GradCheckResult, overflow: Mask, values: Doubles | None = None
) -> GradCheckResult:
    """INCONCLUSIVE, unless another element is wrong; `values` are derivatives that overflow."""
    if not overflow.any() or result.verdict is Verdict.FAIL:
        return result
    detail = "the gradient is infinite, as the derivative may be,"
    known = np.zeros(0) if values is None else values[np.isfinite(values)]
    if known.size:
        example = known[np.argmax(np.abs(known))]
        detail = f"overflow: the gradient, {example:.6g}, is larger than any {result.dtype}"
    count = f"{np.count_nonzero(overflow)} of {overflow.size} elements"
    return replace(
        result,
        verdict=Verdict.INCONCLUSIVE,
        reasons=(Reason.DOMAIN, *(one for one in result.reasons if one is not Reason.DOMAIN)),
        resolution=float("inf"),
        min_detectable_99=float("inf"),
        detail="; ".join(text for text in (f"{detail} at {count}", result.detail) if text),
    )
