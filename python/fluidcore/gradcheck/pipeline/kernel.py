"""The verdict on the dtype under test, by one input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.judge import Judgement, Reference
from fluidcore.gradcheck.measure.modes import Indices, choose, columns_of
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline import assemble
from fluidcore.gradcheck.pipeline.formula import Formula, trusted
from fluidcore.gradcheck.report.errors import with_statistics
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.calls import cast, flat
from fluidcore.gradcheck.target.precision import LARGEST, UNIT
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import Array, Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict

_BLOCK = 2**16  # elements that are looked at at once
_SMALL = 0.01  # as in padded_scale
_SIGNS = 4  # random signs that measure the size of the terms of a gradient
_CERTAIN = 2.33 / 3  # standard errors of a mean of 9: found in 99 % of cases


def kernel_test(session: Session) -> core.KernelTest:
    """Compares the gradients of the target in its own dtype and in a wider one, by all inputs."""
    target = session.target

    def gradient(dtype: str) -> core.CallableGradient:
        def vjp(xs: Sequence[Array], vs: Sequence[Array]) -> list[Doubles]:
            return session.calls.gradient(vs, dtype, xs)

        return core.CallableGradient(
            vjp, session.calls.point(dtype), has_fixed_cotangent=target.fixed_cotangent
        )

    return core.KernelTest(
        gradient(target.dtype),
        gradient(session.dtype),
        session.function,
        [session.cotangent(row) for row in range(_rows(session))],
        seed=session.engine_seed,
    )


def check_kernel(
    session: Session, k: int, test: core.KernelTest, formula: Formula
) -> GradCheckResult:
    """Judges the gradient by input `k` in the target's dtype against that in a wider one."""
    dtype, target = session.target.dtype, session.target
    base = assemble.blank(session.target, k, dtype, "full")
    base = replace(base, mode=formula.result.mode)
    rows = _rows(session)
    for index in range(rows):
        session.gradients(index, dtype)
    fault = session.calls.faults.get((k, dtype))
    if fault is not None:
        return assemble.refused(base, fault.reason, fault.detail)
    if target.inputs[k].value.size == 0:
        return assemble.without_elements(base)
    claimed = session.analytical(k, session.dtype, rows)
    if not np.isfinite(claimed).all():
        detail = f"there is nothing to compare with: the gradient in {session.dtype} is not finite"
        return assemble.undecided(base, Reason.DOMAIN, detail)
    unfinished = _not_finite(session, k, base, claimed)
    if unfinished is not None:
        return unfinished
    if session.late or Reason.BUDGET in formula.result.reasons:
        return assemble.late(base)
    runs = test.evaluations
    is_short = formula.judgement is None and not session.config.verbose
    result = _proven(session, k, test, base) if is_short else None
    result = result or _by_element(session, k, test, base, formula, claimed)
    session.calls.forwards += test.evaluations - runs
    return result


def _by_element(
    session: Session,
    k: int,
    test: core.KernelTest,
    base: GradCheckResult,
    formula: Formula,
    claimed: Doubles,
) -> GradCheckResult:
    dtype = session.target.dtype
    elements = _elements(formula, claimed)
    columns = columns_of(elements, claimed.shape[1])
    kernel = session.analytical(k, dtype, len(claimed))[:, columns]
    claimed = claimed[:, columns]
    rules = session.kernel_rules
    # What is known of kinks holds for the kernel, too.
    unsure = None if formula.judgement is None else formula.judgement.unsure.any(0)
    reference = trusted(formula, claimed, _scale(session, k, formula, claimed, signs=0))
    found = None
    if unsure is None or not unsure.any():
        found = test.judge_at_point(k, elements, claimed, kernel, reference.native, rules)
    if found is None:
        del reference
        reference = trusted(formula, claimed, _scale(session, k, formula, claimed, signs=_SIGNS))
        found = test.judge(k, elements, claimed, kernel, reference.native, rules, unsure)
    judgement = Judgement(found, reference, found.limit)
    result = assemble.of_elements(
        base,
        judgement,
        elements,
        failing=Reason.KERNEL,
        verbose=session.config.verbose,
    )
    with np.errstate(all="ignore"):
        spread = found.spread
        spread *= _CERTAIN
        spread += judgement.limit
        spread /= judgement.measure
        np.nan_to_num(spread, copy=False, nan=0.0, posinf=np.inf)
    result = replace(result, min_detectable_99=float(np.max(spread, initial=0.0)))
    if found.num_imprecise and result.verdict is Verdict.PASS:
        detail = f"{found.num_imprecise} elements are less precise than {dtype} allows"
        result = replace(result, reasons=(Reason.PRECISION_LOSS,), detail=detail)
    narrow = test.narrowed_to(k, elements, claimed, kernel, reference.native, rules)
    return assemble.with_digits(result, narrow)


def _proven(
    session: Session, k: int, test: core.KernelTest, base: GradCheckResult
) -> GradCheckResult | None:
    """PASS where the gradient at the point proves one block of elements after the other.

    The few that it does not prove are looked at around the point, together. The largest element,
    which others are compared with, is that of its block, and no larger: whatever is proven is
    proven. None where something is not.
    """
    if _rows(session) != 1:
        return None
    claimed = session.gradients(0, session.dtype)[k]
    kernel = session.gradients(0, session.target.dtype)[k]
    rules = session.kernel_rules
    least = max(
        math.sqrt(float(claimed @ claimed) / claimed.size),
        _SMALL * float(np.max(np.abs(claimed))),
    )
    narrow: set[str] | None = None
    rest = []
    worst = spread = 0.0

    def asked(elements: Indices) -> tuple[int, Indices, Doubles, Doubles, core.Derivatives]:
        formula = claimed[None, elements]
        reference = Reference.exact(formula, 2 * np.maximum(np.abs(formula), least))
        return k, elements, formula, kernel[None, elements], reference.native

    for begin in range(0, claimed.size, _BLOCK):
        elements = np.arange(begin, min(begin + _BLOCK, claimed.size), dtype=np.int64)
        if narrow is None or narrow:
            some = set(core.narrower_dtypes(kernel[elements], session.target.dtype))
            narrow = some if narrow is None else narrow & some
        columns = test.unproven(*asked(elements))
        rest.append(elements[columns])
        found = test.judge_at_point(*asked(np.delete(elements, columns)), rules)
        if found is None:
            return None
        worst = max(worst, float(np.max(found.resolution, initial=0.0)))
    few = np.concatenate(rest)
    if few.size:
        found = test.judge(*asked(few), rules)
        if found.wrong.any() or found.unsure.any() or found.num_imprecise:
            return None
        worst = max(worst, float(np.max(found.resolution)))
        spread = float(np.max((_CERTAIN * found.spread + found.limit) / found.measure))
    if narrow:
        return None
    result = replace(
        base,
        num_elements=claimed.size,
        num_passed=claimed.size,
        resolution=worst,
        min_detectable_99=max(worst, spread),
    )
    return with_statistics(result, kernel, claimed)


def _rows(session: Session) -> int:
    """How many cotangents kernels are compared for; one is enough where all inputs are large."""
    inputs = range(len(session.target.inputs))
    is_large = all(choose(session, k) == "directional" for k in inputs)
    return 1 if is_large else session.num_cotangents


def _not_finite(
    session: Session, k: int, base: GradCheckResult, formula: Doubles
) -> GradCheckResult | None:
    """The result of a kernel whose gradient is not finite; an overflow is not its fault."""
    dtype = session.target.dtype
    kernel = session.analytical(k, dtype, len(formula))
    bad = ~np.isfinite(kernel)
    if not bad.any():
        return None
    if not np.isfinite(flat(session.calls.forward(dtype))).all():
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


def _scale(session: Session, k: int, formula: Formula, claimed: Doubles, *, signs: int) -> Doubles:
    """[r, n]: the sum of the absolute values of the terms of each element.

    Without differences element by element it is estimated from the gradient, and gradients for
    cotangents with random signs, whose root mean square is that of the terms.
    """
    if formula.judgement is not None:
        return formula.judgement.reference.scale
    rows = []
    for index in range(len(claimed)):
        squares = claimed[index] ** 2
        for q in range(signs):
            signed = [
                cast(np.asarray(v).astype(np.float64) * _signs(session, j, q, v.shape), "float64")
                for j, v in enumerate(session.cotangent(index))
            ]
            squares = squares + session.gradient_of(signed, session.dtype)[k] ** 2
        size = np.sqrt(squares / (signs + 1))
        rows.append(2 * np.maximum(size, np.sqrt(np.mean(size**2))))
    return np.array(rows)


def _signs(session: Session, j: int, q: int, shape: tuple[int, ...]) -> Doubles:
    random = stream(session.config.seed, f"output {j}", f"signs {q}")
    return random.choice([-1.0, 1.0], shape)
