"""The verdict on the dtype under test, by one input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.flags import Indices
from fluidcore.gradcheck.measure.modes import choose, columns_of
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline import assemble
from fluidcore.gradcheck.pipeline.formula import Formula
from fluidcore.gradcheck.report.errors import statistics
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.target import Array, Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict


class KernelTests:
    """Compares the gradients of a target in its own dtype and in a wider one, by all inputs."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tests: dict[int, core.KernelTest] = {}

    def of(self, rows: int) -> core.KernelTest:
        """For the first cotangents, so many; each number of them has moved points of its own."""
        if rows not in self._tests:
            session = self._session
            self._tests[rows] = core.KernelTest(
                self._gradient(session.target.dtype),
                self._gradient(session.dtype),
                session.function,
                [session.cotangent(row) for row in range(rows)],
                seed=session.engine_seed,
            )
        return self._tests[rows]

    def _gradient(self, dtype: str) -> core.CallableGradient:
        calls, is_fixed = self._session.calls, self._session.target.fixed_cotangent

        def vjp(xs: Sequence[Array], vs: Sequence[Array]) -> list[Doubles]:
            return calls.gradient(vs, dtype, xs)

        return core.CallableGradient(vjp, calls.point(dtype), has_fixed_cotangent=is_fixed)


def check_kernel(session: Session, k: int, tests: KernelTests, formula: Formula) -> GradCheckResult:
    """Judges the gradient by input `k` in the target's dtype against that in a wider one."""
    dtype, target = session.target.dtype, session.target
    base = assemble.blank(session.target, k, dtype, formula.result.mode)
    # One cotangent hides what it makes small: of few elements, all that may be wrong.
    rows = 1 if choose(session, k) == "directional" else session.num_cotangents
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
    test = tests.of(rows)
    runs = test.evaluations
    is_short = rows == 1 and formula.native is None and not session.config.verbose
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
    rules = session.kernel_rules
    found = test.check(k, elements, claimed[:, columns], kernel, rules, formula.native)
    reference = found.exact
    if reference is None:
        assert formula.native is not None
        reference = formula.native.reference
    result = assemble.of_elements(
        base,
        found.judgement,
        reference,
        elements,
        failing=Reason.KERNEL,
        verbose=session.config.verbose,
        detectable=found.detectable,
    )
    imprecise = found.judgement.num_imprecise
    if imprecise and result.verdict is Verdict.PASS:
        detail = f"{imprecise} elements are less precise than {dtype} allows"
        result = replace(result, reasons=(Reason.PRECISION_LOSS,), detail=detail)
    return assemble.with_digits(result, found.narrowed_to)


def _proven(
    session: Session, k: int, test: core.KernelTest, base: GradCheckResult
) -> GradCheckResult | None:
    """PASS where all elements are proven at once, without a judgement of each; else None."""
    claimed = session.gradients(0, session.dtype)[k]
    kernel = session.gradients(0, session.target.dtype)[k]
    found = test.prove(k, claimed, kernel, session.kernel_rules)
    if found is None:
        return None
    resolution, detectable = found
    return replace(
        base,
        num_elements=claimed.size,
        num_passed=claimed.size,
        resolution=resolution,
        min_detectable_99=detectable,
        **statistics(kernel, claimed),
    )


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
    too_large = np.zeros_like(bad)
    too_large[bad] = [
        core.may_be_infinite(claimed, derivative, dtype)
        for claimed, derivative in zip(kernel[bad], formula[bad], strict=True)
    ]
    if (bad & ~too_large).any():
        row = int(np.argmax((bad & ~too_large).any(1)))
        shown = np.where(too_large[row], formula[row], kernel[row])
        return assemble.not_finite(base, shown)
    row, i = (int(axis[0]) for axis in np.nonzero(bad))
    detail = f"overflow: the gradient, {formula[row, i]:.6g}, is larger than any {dtype}"
    return assemble.undecided(base, Reason.DOMAIN, detail)


def _elements(formula: Formula, claimed: Doubles) -> Indices:
    if formula.elements is not None:
        return formula.elements
    return np.arange(claimed.shape[1], dtype=np.int64)
