"""The gradient's formula against numerical derivatives, by one input."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure import modes, taylor
from fluidcore.gradcheck.measure.directions import check_directions
from fluidcore.gradcheck.measure.flags import Indices, Mask
from fluidcore.gradcheck.measure.modes import columns_of, elements_of
from fluidcore.gradcheck.measure.native import native_formula
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline import assemble
from fluidcore.gradcheck.pipeline.overflow import overflown, with_overflow
from fluidcore.gradcheck.report.data import Hypothesis
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict


@dataclass(frozen=True)
class Formula:
    """What was found.

    Attributes:
        result: For the report.
        elements: That were looked at one by one, [n]; None if none was.
        native: What the core has found of them.
    """

    result: GradCheckResult
    elements: Indices | None = None
    native: core.ElementCheck | None = None


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
    if mode == "coloured":
        found = _by_element(session, k, base, noise, overflow)
        if found is not None:
            return found
        mode = "full" if size <= session.config.n_full else "directional"
        text = "the promise that rows do not depend on each other is not kept"
        session.note = session.note or text
        base = replace(base, mode=mode)
    if mode == "full":
        found = _by_element(session, k, base, noise, overflow)
        assert found is not None
        return found
    if overflow.any():
        undecided = assemble.undecided(base, Reason.DOMAIN, "")
        return Formula(with_overflow(undecided, overflow))
    return Formula(_with_levels(session, k, _by_direction(session, k, base, noise), noise))


def _by_direction(session: Session, k: int, base: GradCheckResult, noise: Noise) -> GradCheckResult:
    found = check_directions(session, k, noise.forward)
    return assemble.of_directions(base, found, session.config.verbose)


def _by_element(
    session: Session, k: int, base: GradCheckResult, noise: Noise, overflow: Mask
) -> Formula | None:
    """None where rows depend on each other that promise not to."""
    elements, native = elements_of(session, k), native_formula(session, noise)
    columns = columns_of(elements, overflow.size)
    evaluations = native.evaluations
    found = native.check_elements(
        k,
        elements,
        rows=session.target.inputs[k].rows if base.mode == "coloured" else 0,
        direction=lambda: session.direction(k, 0),
        claimed=session.analytical(k, session.dtype)[:, columns],
        deviation=None if noise.repeats else noise.backward[k][columns],
        overflows=overflow[columns] if overflow.any() else None,
    )
    session.calls.forwards += native.evaluations - evaluations
    if found is None:
        return None
    if found.along is not None:
        session.keep_trace(k, found.along)
    judgement, reference = found.judgement, found.reference
    result = assemble.of_elements(
        base,
        judgement,
        reference,
        elements,
        failing=Reason.MISMATCH,
        verbose=session.config.verbose,
    )
    if found.heights is not None:
        worst = float(np.max(judgement.limit / found.heights[:, None]))
        result = replace(
            result,
            resolution=worst,
            min_detectable_99=worst,
            detail=f"0, as far as f tells: at most {float(np.max(judgement.limit)):.2g}",
        )
    if overflow.any():
        result = with_overflow(result, overflow, reference.value[:, overflow[columns]])
    else:
        result = _with_levels(session, k, result, noise)
        narrow = core.narrowed_to(
            judgement.analytical, reference, session.dtype, session.rules.bars
        )
        result = assemble.with_digits(result, narrow)
    known = session.config.explain and not session.late and not overflow.any()
    if result.verdict is Verdict.FAIL and known:
        result = replace(result, hypotheses=_explained(session, k, found))
    return Formula(result, elements, found)


def _with_levels(
    session: Session, k: int, result: GradCheckResult, noise: Noise
) -> GradCheckResult:
    """The levels along one direction, where there is something to show."""
    is_wanted = session.config.levels or result.verdict is not Verdict.PASS
    if session.late or not is_wanted:
        return result
    return replace(result, levels=taylor.trace(session, k, session.noise_floor(noise.forward).near))


def _explained(session: Session, k: int, found: core.ElementCheck) -> tuple[Hypothesis, ...]:
    """What may be wrong; only where all elements were looked at."""
    part, judgement, reference = session.target.inputs[k], found.judgement, found.reference
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
        shaped(judgement.nearest if reference.flags.any() else reference.value),
        [session.cotangent(int(i)) for i in order],
        shaped(judgement.limit),
    )
