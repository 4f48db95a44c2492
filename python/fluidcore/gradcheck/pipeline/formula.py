"""The gradient's formula against numerical derivatives, by one input."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure import modes, taylor
from fluidcore.gradcheck.measure.confirm import confirm
from fluidcore.gradcheck.measure.directions import check_directions
from fluidcore.gradcheck.measure.judge import Judgement, Mask, Reference, judge
from fluidcore.gradcheck.measure.modes import Numerical, columns_of
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline import assemble
from fluidcore.gradcheck.pipeline.absorption import heights_of, settle_zero, with_absorption
from fluidcore.gradcheck.pipeline.cancellation import settle_grid
from fluidcore.gradcheck.pipeline.overflow import left_open, overflown, with_overflow
from fluidcore.gradcheck.pipeline.own_rounding import settle_rounding
from fluidcore.gradcheck.report.data import Hypothesis
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict


@dataclass(frozen=True)
class Formula:
    """What was found.

    Attributes:
        result: For the report.
        judgement: Of all elements that were looked at; None if they were not looked at one by one.
        numerical: What it rests on.
        heights: [r, 1], f over x, where the gradient is 0 as far as that tells.
    """

    result: GradCheckResult
    judgement: Judgement | None = None
    numerical: Numerical | None = None
    heights: Doubles | None = None


def check_formula(session: Session, k: int, noise: Noise) -> Formula:
    """Judges the gradient by input `k` in the dtype in which f is differentiated."""
    mode = modes.choose(session, k)
    base = assemble.blank(session.target, k, session.dtype, mode)
    fault = session.calls.faults.get((k, session.dtype))
    if fault is not None:
        return Formula(assemble.refused(base, fault.reason, fault.detail))
    size = session.target.inputs[k].value.size
    if size == 0:
        return Formula(assemble.without_elements(base))
    overflow: Mask = np.zeros(size, dtype=np.bool_)
    for index in range(session.config.probes if mode == "directional" else session.num_cotangents):
        gradient = session.gradients(index, session.dtype)[k]
        fault = session.calls.faults.get((k, session.dtype))
        if fault is not None:
            return Formula(assemble.refused(base, fault.reason, fault.detail))
        if not np.isfinite(gradient).all():
            infinite = overflown(session, k, index, gradient, noise.forward)
            if infinite is None:
                return Formula(assemble.not_finite(base, gradient))
            overflow |= infinite
    if session.late:
        return Formula(assemble.late(base))
    if mode != "directional":
        numerical = modes.compare(session, k, mode, noise.forward)
        if numerical is None:
            mode = "full" if size <= session.config.n_full else "directional"
            text = "the promise that rows do not depend on each other is not kept"
            session.note = session.note or text
            base = replace(base, mode=mode)
            if mode == "full":
                numerical = modes.compare(session, k, mode, noise.forward)
        if numerical is not None:
            return _by_element(session, k, base, numerical, noise, overflow)
    if overflow.any():
        undecided = assemble.undecided(base, Reason.DOMAIN, "")
        return Formula(with_overflow(undecided, overflow))
    return Formula(_with_levels(session, k, _by_direction(session, k, base, noise), noise))


def _by_direction(session: Session, k: int, base: GradCheckResult, noise: Noise) -> GradCheckResult:
    found = check_directions(session, k, noise.forward)
    return assemble.of_directions(base, found, session.config.verbose)


def _by_element(
    session: Session,
    k: int,
    base: GradCheckResult,
    numerical: Numerical,
    noise: Noise,
    overflow: Mask,
) -> Formula:
    claimed = session.analytical(k, session.dtype)
    claimed = claimed[:, columns_of(numerical.elements, claimed.shape[1])]
    reference = left_open(numerical.reference, overflow[numerical.elements])
    measured = reference.native
    tolerance = (
        measured.alone_tolerance(session.dtype) if session.alone else measured.formula_tolerance()
    )
    del measured  # as large as the reference
    heights = heights_of(session, k)
    reference = with_absorption(session, k, reference, claimed, heights)
    independent = (reference.scale == 0) & (reference.error == 0) & (claimed != 0)  # A is rounded
    tolerance = tolerance + np.where(independent, 16 * UNIT[session.dtype] * heights, 0.0)
    tolerance = tolerance + 4 * noise.backward[k][numerical.elements]
    judgement = judge(reference, claimed, tolerance, session.rules)
    rows = session.target.inputs[k].rows if numerical.mode == "coloured" else 0
    judgement = confirm(session, k, judgement, numerical.elements, noise.forward, rows=rows)
    judgement = settle_rounding(session, k, judgement, numerical)
    judgement = settle_grid(session, k, judgement, numerical)
    judgement, is_zero = settle_zero(session, k, judgement, heights, noise)
    result = assemble.of_elements(
        base,
        judgement,
        numerical.elements,
        failing=Reason.MISMATCH,
        verbose=session.config.verbose,
        failure=numerical.failure,
    )
    if is_zero:
        worst = float(np.max(judgement.limit / heights))
        result = replace(
            result,
            resolution=worst,
            min_detectable_99=worst,
            detail=f"0, as far as f tells: at most {float(np.max(judgement.limit)):.2g}",
        )
    if overflow.any():
        result = with_overflow(result, overflow, numerical)
    else:
        result = _with_levels(session, k, result, noise)
        narrow = core.narrowed_to(
            claimed, judgement.reference.native, session.dtype, session.rules.bars
        )
        result = assemble.with_digits(result, narrow)
    known = session.config.explain and not session.late and not overflow.any()
    if result.verdict is Verdict.FAIL and known:
        result = replace(result, hypotheses=_explained(session, k, judgement))
    return Formula(result, judgement, numerical, heights if is_zero else None)


def _with_levels(
    session: Session, k: int, result: GradCheckResult, noise: Noise
) -> GradCheckResult:
    """The levels along one direction, where there is something to show."""
    is_wanted = session.config.levels or result.verdict is not Verdict.PASS
    if session.late or not is_wanted:
        return result
    return replace(result, levels=taylor.trace(session, k, 0, noise.forward))


def _explained(session: Session, k: int, judgement: Judgement) -> tuple[Hypothesis, ...]:
    """What may be wrong; only where all elements were looked at."""
    part = session.target.inputs[k]
    if judgement.wrong.shape[1] != part.value.size:
        return ()
    from fluidcore.gradcheck.explain.hypotheses import explain

    order = np.argsort(-np.count_nonzero(judgement.wrong, axis=1), kind="stable")
    shape = part.value.shape

    def shaped(values: Doubles) -> Doubles:
        row: Doubles = values[int(order[0])]
        return row.reshape(shape)

    return explain(
        session.target,
        k,
        shaped(judgement.analytical),
        shaped(judgement.nearest if judgement.reference.flags.any() else judgement.reference.value),
        [session.cotangent(int(i)) for i in order],
        shaped(judgement.limit),
    )


def trusted(formula: Formula, claimed: Doubles, scale: Doubles) -> Reference:
    """What a kernel is compared with: the differences, or a float64 gradient that is refuted."""
    if formula.heights is not None:
        return Reference.exact(claimed, np.broadcast_to(formula.heights, claimed.shape))
    if formula.judgement is None or formula.result.verdict is Verdict.FAIL:
        return Reference.exact(claimed, scale)
    return formula.judgement.reference
