"""The gradient's formula against numerical derivatives, by one input."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fluidcore.gradcheck import assemble, modes, taylor
from fluidcore.gradcheck.calls import flat
from fluidcore.gradcheck.digits import with_digits
from fluidcore.gradcheck.directional import check_directions
from fluidcore.gradcheck.independence import largest_slope
from fluidcore.gradcheck.judge import (
    ABSORBED,
    DOMAIN,
    UNIT,
    Judgement,
    Reference,
    alone_tolerance,
    formula_tolerance,
    has_kink,
    judge,
)
from fluidcore.gradcheck.kinks import settle_kinks
from fluidcore.gradcheck.modes import Numerical
from fluidcore.gradcheck.noise import Noise
from fluidcore.gradcheck.result import GradCheckResult, Hypothesis
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.steps import settle_steps
from fluidcore.gradcheck.target import SHADOW, Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict

_VISIBLE = 0.01  # a slope that must be seen where f seems to have none
_NEGLIGIBLE = 1e-3  # the part of f / x that a gradient of 0 must be below, times the resolution


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
    base = assemble.blank(session, k, session.dtype, mode)
    fault = session.calls.faults.get((k, session.dtype))
    if fault is not None:
        return Formula(assemble.refused(base, fault.reason, fault.detail))
    size = session.target.inputs[k].value.size
    if size == 0:
        return Formula(replace(base, detail="there are no elements"))
    for index in range(session.config.probes if mode == "directional" else session.num_cotangents):
        gradient = session.gradients(index, session.dtype)[k]
        fault = session.calls.faults.get((k, session.dtype))
        if fault is not None:
            return Formula(assemble.refused(base, fault.reason, fault.detail))
        if not np.isfinite(gradient).all():
            return Formula(assemble.not_finite(base, gradient))
    if session.late:
        detail = "there was no time left"
        return Formula(assemble.undecided(base, Reason.BUDGET, detail))
    if mode != "directional":
        numerical = modes.differentiate(session, k, mode, noise.forward)
        if numerical is None:
            mode = "full" if size <= session.config.n_full else "directional"
            text = "the promise that rows do not depend on each other is not kept"
            session.note = session.note or text
            base = replace(base, mode=mode)
            if mode == "full":
                numerical = modes.differentiate(session, k, mode, noise.forward)
        if numerical is not None:
            return _by_element(session, k, base, numerical, noise)
    return Formula(_with_opinion(session, k, _by_direction(session, k, base, noise), noise))


def _by_direction(session: Session, k: int, base: GradCheckResult, noise: Noise) -> GradCheckResult:
    found = check_directions(session, k, noise.forward)
    return assemble.of_directions(base, found, session.config.verbose)


def _by_element(
    session: Session, k: int, base: GradCheckResult, numerical: Numerical, noise: Noise
) -> Formula:
    claimed = session.analytical(k, session.dtype)[:, numerical.elements]
    reference = numerical.reference
    tolerance = (
        alone_tolerance(reference, session.dtype) if session.alone else formula_tolerance(reference)
    )
    heights = _heights(session, k)
    if session.dtype == SHADOW:
        reference = _with_absorption(reference, claimed, heights)
    independent = (reference.scale == 0) & (reference.error == 0) & (claimed != 0)  # A is rounded
    tolerance = tolerance + np.where(independent, 16 * UNIT[session.dtype] * heights, 0.0)
    tolerance = tolerance + 4 * noise.backward[k][numerical.elements]
    judgement = judge(reference, claimed, tolerance, session.rules)
    judgement = settle_kinks(session, k, judgement, numerical, noise.forward)
    judgement = settle_steps(session, k, judgement, numerical, noise.forward)

    def assembled(judgement: Judgement) -> GradCheckResult:
        return assemble.of_elements(
            base,
            judgement,
            numerical.elements,
            failing=Reason.MISMATCH,
            verbose=session.config.verbose,
            failure=numerical.failure,
        )

    result = assembled(judgement)
    zero = result.verdict is Verdict.INCONCLUSIVE and _is_zero(session, judgement, heights)
    if not zero and (judgement.unsure | judgement.wrong).any() and not session.late:
        limit = _limit_of_zero(session, k, judgement, heights, noise)
        if limit is not None:
            zero = True
            settled = replace(judgement, limit=limit, wrong=np.zeros_like(judgement.wrong))
            judgement = replace(settled, unsure=np.zeros_like(judgement.unsure))
            result = assembled(judgement)
    if zero:
        worst = float(np.max(judgement.limit / heights))
        result = replace(
            result,
            verdict=Verdict.PASS,
            reasons=(),
            num_passed=result.num_elements,
            resolution=worst,
            min_detectable_99=worst,
            detail=f"0, as far as f tells: at most {float(np.max(judgement.limit)):.2g}",
        )
    result = _with_opinion(session, k, result, noise)
    result = with_digits(result, claimed, reference, session.rules.bars)
    if result.verdict is Verdict.FAIL and session.config.explain and not session.late:
        result = replace(result, hypotheses=_explained(session, k, judgement))
    return Formula(result, judgement, numerical, heights if zero else None)


def _heights(session: Session, k: int) -> Doubles:
    """[r, 1]: f over x, which is the size of a derivative that is not small."""
    x = np.asarray(session.target.inputs[k].value).astype(np.float64)
    size = float(np.sqrt(np.mean(x * x))) or 1.0
    values = np.abs(flat(session.outputs))
    rows = [
        float(np.sum(np.abs(session.weights(i)) * values)) for i in range(session.num_cotangents)
    ]
    return np.array(rows)[:, None] / size


def _with_absorption(reference: Reference, claimed: Doubles, heights: Doubles) -> Reference:
    """Flags elements that never moved f, where f is so large that it could not show a move.

    Where f is 1e16 times x and more, a step of x vanishes in the rounding of f. That does not
    matter where the gradient is claimed to be 0, too.
    """
    hidden = (reference.scale == 0) & (reference.error == 0) & (claimed != 0)
    hidden &= heights * UNIT[SHADOW] > 1
    flags = reference.flags | np.where(hidden.any(0), ABSORBED, 0).astype(np.uint8)
    return replace(reference, flags=flags)


def _is_zero(session: Session, judgement: Judgement, heights: Doubles) -> bool:
    """Whether f does not depend on the input, though rounding forbids to see it exactly.

    So it is with a constant that is added before a normalization: the derivative is 0 within an
    error bar that is nothing beside f / x.
    """
    least = session.rules.resolution * _NEGLIGIBLE * heights
    limit = judgement.limit
    zero = np.abs(judgement.reference.value) <= limit
    zero &= (np.abs(judgement.analytical) <= limit) & (limit <= least) & (heights > 0)
    flags = judgement.reference.flags
    zero &= (flags == 0) | ((flags == ABSORBED) & (judgement.analytical == 0))
    return bool(judgement.counted.any() and zero[:, judgement.counted].all())


def _limit_of_zero(
    session: Session, k: int, judgement: Judgement, heights: Doubles, noise: Noise
) -> Doubles | None:
    """[r, n]: what the derivative is less than, if large steps show that it is 0; else None."""
    reference, claimed = judgement.reference, np.abs(judgement.analytical)
    rounding = 16 * UNIT[session.dtype] * heights
    least = session.rules.resolution * _NEGLIGIBLE * heights
    zero = (claimed <= least) & (heights > 0) & (rounding < _VISIBLE)
    seen = np.abs(reference.value) > session.rules.bars * reference.error + rounding
    zero &= has_kink(reference.flags) | ~seen
    if (reference.flags & (ABSORBED | DOMAIN)).any() or not zero.all():
        return None
    limit = session.rules.bars * largest_slope(session, k, noise.forward) + rounding
    return np.maximum(limit, claimed) if (limit <= least).all() else None


def _with_opinion(
    session: Session, k: int, result: GradCheckResult, noise: Noise
) -> GradCheckResult:
    """The levels along one direction; and the slope of the remainder where there is a doubt."""
    if session.late:
        return result
    levels, _, _ = taylor.trace(session, k, 0, noise.forward)
    result = replace(result, levels=levels)
    if result.verdict is not Verdict.INCONCLUSIVE or result.reasons[:1] != (Reason.NOISE,):
        return result
    opinion = taylor.second_opinion(session, k, noise.forward)
    rough = result.reasons != (Reason.NOISE,)  # for some elements: the steps are too large for f
    if opinion.verdict is Verdict.INCONCLUSIVE or (rough and opinion.verdict is Verdict.FAIL):
        return result
    count = session.config.probes
    slope = "" if np.isnan(opinion.slope) else f", slope {opinion.slope:.2f}"
    if opinion.verdict is Verdict.PASS:
        return replace(
            result,
            verdict=Verdict.PASS,
            reasons=(),
            resolution=opinion.resolution,
            detail=f"decided by the Taylor remainder along {count} directions{slope}",
        )
    detail = f"{result.detail}; the Taylor remainder falls too slowly{slope}"
    return replace(result, verdict=Verdict.FAIL, reasons=(Reason.MISMATCH,), detail=detail)


def _explained(session: Session, k: int, judgement: Judgement) -> tuple[Hypothesis, ...]:
    """What may be wrong; only where all elements were looked at."""
    part = session.target.inputs[k]
    if judgement.wrong.shape[1] != part.value.size:
        return ()
    from fluidcore.gradcheck.explain import explain

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
