"""The verdict on the dtype under test, by one input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fluidcore.gradcheck.kernel.digits import with_digits
from fluidcore.gradcheck.kernel.fault import KernelTest
from fluidcore.gradcheck.kernel.lost_digits import are_rounding, lost_digits
from fluidcore.gradcheck.measure.judge import Judgement, Mask, Reference, most
from fluidcore.gradcheck.measure.modes import Indices, columns_of
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline import assemble
from fluidcore.gradcheck.pipeline.formula import Formula, trusted
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.calls import cast, flat
from fluidcore.gradcheck.target.precision import LARGEST, UNIT
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict

_SIGNS = 4  # random signs that measure the size of the terms of a gradient
_CERTAIN = 2.33 / 3  # standard errors of a mean of 9: found in 99 % of cases


def check_kernel(session: Session, k: int, test: KernelTest, formula: Formula) -> GradCheckResult:
    """Judges the gradient by input `k` in the target's dtype against float64."""
    dtype, target = session.target.dtype, session.target
    base = assemble.blank(session.target, k, dtype, "full")
    base = replace(base, mode=formula.result.mode)
    for index in range(session.num_cotangents):
        session.gradients(index, dtype)
    fault = session.calls.faults.get((k, dtype))
    if fault is not None:
        return assemble.refused(base, fault.reason, fault.detail)
    if target.inputs[k].value.size == 0:
        return replace(base, detail="there are no elements")
    claimed = session.analytical(k, session.dtype)
    if not np.isfinite(claimed).all():
        detail = f"there is nothing to compare with: the gradient in {session.dtype} is not finite"
        return assemble.undecided(base, Reason.DOMAIN, detail)
    unfinished = _not_finite(session, k, base, claimed)
    if unfinished is not None:
        return unfinished
    if session.late:
        return assemble.late(base)
    elements = _elements(formula, claimed)
    scale = _scale(session, k, formula, claimed)
    columns = columns_of(elements, claimed.shape[1])
    claimed = claimed[:, columns]
    reference = trusted(formula, claimed, scale)
    judgement = test.judge(k, claimed, reference, elements)
    if formula.judgement is not None:
        judgement = _settled(judgement, formula.judgement)
    judgement, imprecise = _split(session, k, judgement, elements)
    result = assemble.of_elements(
        base,
        judgement,
        elements,
        failing=Reason.KERNEL,
        verbose=session.config.verbose,
    )
    _, spread, _ = test.at_point.of(k, columns)
    with np.errstate(all="ignore"):
        limit = judgement.limit + _CERTAIN * spread
        least = np.nan_to_num(limit / reference.measure, nan=0.0, posinf=np.inf)
    result = replace(result, min_detectable_99=float(np.max(least, initial=0.0)))
    if imprecise and result.verdict is Verdict.PASS:
        detail = f"{imprecise} elements are less precise than {dtype} allows"
        result = replace(result, reasons=(Reason.PRECISION_LOSS,), detail=detail)
    exact = Reference.exact(claimed, reference.scale)
    kernel = session.analytical(k, dtype)[:, columns]

    def uncertain() -> Doubles:
        return lost_digits(session, k, elements).uncertain(k)[:, elements]

    return with_digits(result, kernel, exact, session.kernel_rules.bars, uncertain)


def _not_finite(
    session: Session, k: int, base: GradCheckResult, formula: Doubles
) -> GradCheckResult | None:
    """The result of a kernel whose gradient is not finite; an overflow is not its fault."""
    dtype = session.target.dtype
    kernel = session.analytical(k, dtype)
    bad = ~np.isfinite(kernel)
    if not bad.any():
        return None
    if not np.isfinite(flat(session.calls.forward(session.calls.point(dtype), dtype))).all():
        detail = f"f is not finite at the point, in {dtype}"
        return assemble.undecided(base, Reason.DOMAIN, detail)
    too_large = np.isinf(kernel) & (np.abs(formula) > LARGEST[dtype] * (1 - UNIT[dtype]))
    too_large &= np.sign(kernel) == np.sign(formula)
    if (bad & ~too_large).any():
        row = int(np.argmax((bad & ~too_large).any(1)))
        shown = np.where(too_large[row], formula[row], kernel[row])
        return assemble.not_finite(base, shown)
    row, i = (int(axis[0]) for axis in np.nonzero(bad))
    detail = f"overflow: the gradient, {formula[row, i]:.6g}, is larger than any {dtype}"
    return assemble.undecided(base, Reason.DOMAIN, detail)


def _elements(formula: Formula, claimed: Doubles) -> Indices:
    if formula.numerical is not None:
        return formula.numerical.elements
    return np.arange(claimed.shape[1], dtype=np.int64)


def _scale(session: Session, k: int, formula: Formula, claimed: Doubles) -> Doubles:
    """[r, n]: the sum of the absolute values of the terms of each element.

    Without differences element by element it is estimated from gradients for cotangents with random
    signs, whose root mean square is that of the terms.
    """
    if formula.judgement is not None:
        return formula.judgement.reference.scale
    rows = []
    for index in range(len(claimed)):
        squares = claimed[index] ** 2
        for q in range(_SIGNS):
            signed = [
                cast(np.asarray(v).astype(np.float64) * _signs(session, j, q, v.shape), "float64")
                for j, v in enumerate(session.cotangent(index))
            ]
            squares = squares + session.gradient_of(signed, session.dtype)[k] ** 2
        size = np.sqrt(squares / (_SIGNS + 1))
        rows.append(2 * np.maximum(size, np.sqrt(np.mean(size**2))))
    return np.array(rows)


def _signs(session: Session, j: int, q: int, shape: tuple[int, ...]) -> Doubles:
    random = stream(session.config.seed, f"output {j}", f"signs {q}")
    return random.choice([-1.0, 1.0], shape)


def _settled(judgement: Judgement, formula: Judgement) -> Judgement:
    """What was found out about kinks, holds for the kernel, too.

    Where the formula could not be judged, there is nothing that the kernel could be right by.
    """
    unknown = judgement.at_kink & formula.unsure.any(0)
    unsure = (judgement.unsure & ~judgement.at_kink) | (unknown & judgement.counted)
    return replace(judgement, wrong=judgement.wrong & ~unknown, unsure=unsure)


def _split(
    session: Session, k: int, judgement: Judgement, elements: Indices
) -> tuple[Judgement, int]:
    """Takes out what is only imprecise, and says how many elements that are.

    Those are off by more than rounding, but by less than a sum of many terms may lose, and by
    nothing beside the largest element; or have lost their digits before the gradient is calculated.
    """
    judgement, imprecise = _excused(session, k, judgement, elements, judgement.wrong)
    if judgement.verdict is Verdict.INCONCLUSIVE:
        judgement, more = _excused(session, k, judgement, elements, judgement.unsure)
        imprecise += more
    return judgement, imprecise


def _excused(
    session: Session, k: int, judgement: Judgement, elements: Indices, doubt: Mask
) -> tuple[Judgement, int]:
    """The judgement without the elements in doubt, [r, n], if all of these are only imprecise."""
    if not doubt.any():
        return judgement, 0
    rules, terms = session.kernel_rules, sum(y.size for y in session.outputs)
    part = min(16 * np.sqrt(terms) * UNIT[session.target.dtype], 0.01 * rules.resolution)
    unsure = judgement.unsure
    off = np.where(doubt, np.abs(judgement.analytical - judgement.nearest), 0.0)
    off = np.where(doubt & unsure, np.maximum(judgement.limit, off), off)
    allowed = np.where(unsure, rules.resolution * judgement.measure, judgement.limit)
    much = doubt & (off > allowed + part * most(judgement.reference.scale))
    if much.any() and not are_rounding(session, k, np.where(much, off, 0.0), elements):
        return judgement, 0
    limit = np.where(doubt, np.maximum(judgement.limit, off), judgement.limit)
    with np.errstate(all="ignore"):
        resolution = np.where(doubt, limit / judgement.measure, judgement.resolution)
    lenient = replace(
        judgement,
        wrong=judgement.wrong & ~doubt,
        unsure=unsure & ~doubt,
        limit=limit,
        resolution=resolution,
    )
    return lenient, int(doubt.any(0).sum())
