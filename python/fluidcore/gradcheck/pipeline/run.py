"""A whole check: audits, the formula, the kernel, second opinions, and what they say together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, name_of
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.fixed_step.comparison import plain_results
from fluidcore.gradcheck.localise.program_findings import localised
from fluidcore.gradcheck.measure.joint_direction import prove
from fluidcore.gradcheck.measure.modes import choose
from fluidcore.gradcheck.measure.noise import Noise, measure
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline import assemble
from fluidcore.gradcheck.pipeline.assemble import place
from fluidcore.gradcheck.pipeline.audits import audits, unchanged
from fluidcore.gradcheck.pipeline.environment import environment
from fluidcore.gradcheck.pipeline.formula import Formula, check_formula
from fluidcore.gradcheck.pipeline.kernel import KernelTests, check_kernel
from fluidcore.gradcheck.pipeline.second_order import check_second_order
from fluidcore.gradcheck.report.data import Audit
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.target import Target
from fluidcore.gradcheck.verdict import Reason


def run_check(target: Target, config: GradCheckConfig) -> GradCheckReport:
    """Checks the gradients of a target by all of its inputs.

    An input without elements passes: there is nothing that could be wrong. Where f itself is not
    finite at the point, the verdict is INCONCLUSIVE; a gradient that is not finite where f is,
    but for an infinity where the derivative may be one, or that has another shape or dtype than its
    input, fails.

    Args:
        target: What is checked. Its data are not changed, and neither is the state of NumPy's and
            Python's random numbers.
        config: How.

    Returns:
        For each input a result for the formula in float64, and one for the dtype under test if that
        is another; only the latter where there is no float64 form.

    Raises:
        core.InvalidArgument: An input is not floating, or not of the target's dtype; the target
            cannot be moved to the device.
        Exception: Whatever f or the gradient raises at the point, with a note on the inputs.
    """
    _check_inputs(target)
    if config.device != "cpu":
        target.move_to(config.device)
    with target.running(), np.errstate(all="ignore"):  # overflow is judged, not warned of
        if config.is_plain:
            report = _report(target, config, plain_results(target, config), ())
            return localised(report, target, config)
        with core.TimeLimit(config.budget_s):
            return _checked(target, config)


def _checked(target: Target, config: GradCheckConfig) -> GradCheckReport:
    """The report; what the time limit ends is undecided."""
    try:
        session = Session(target, config)
    except core.OutOfTime:
        late = tuple(_late(target, k, target.dtype) for k in range(len(target.inputs)))
        return _report(target, config, late, ())
    results, found = _results(session)
    second = check_second_order(session, results, run_check) if config.second_order else ()
    if config.audits and found:
        found = (*found[:-1], unchanged(session))  # after all calls
    report = _report(target, config, results, found)
    try:
        report = localised(report, target, config)
    except core.OutOfTime:
        report = replace(report, notes=(*report.notes, "no time left to find the operator"))
    return replace(report, results=(*report.results, *second))


def _late(target: Target, k: int, dtype: str) -> GradCheckResult:
    return assemble.late(assemble.blank(target, k, dtype, "full"))


def _results(session: Session) -> tuple[tuple[GradCheckResult, ...], tuple[Audit, ...]]:
    try:
        return _judged(session)
    except core.OutOfTime:
        return _all_undecided(session, Reason.BUDGET, assemble.LATE), (unchanged(session),)


def _judged(session: Session) -> tuple[tuple[GradCheckResult, ...], tuple[Audit, ...]]:
    target = session.target
    if not np.isfinite(flat(session.outputs)).all():
        detail = f"{_not_finite(session.target)} at the point, in {session.dtype}"
        return _all_undecided(session, Reason.DOMAIN, detail), (unchanged(session),)
    for dtype in dict.fromkeys((session.dtype, session.target.dtype)):
        if session.config.audits:
            session.run_elsewhere(dtype)
        session.gradients(0, dtype)
    noise = measure(session)
    found = audits(session, noise) if session.config.audits else ()
    if noise.stochastic:
        return _all_undecided(session, Reason.STOCHASTIC, noise.detail), found
    cost = _Cost(session)
    wide = _looked_at(session, "directional")
    # Beside large inputs small ones cost nothing, unless a table of their elements is wanted.
    is_short = session.config.mode == "auto" and not session.config.verbose
    beside = _looked_at(session, "full") if is_short else ()
    proofs = prove(session, wide, noise, beside)
    kernel = KernelTests(session) if session.has_kernel_test else None
    results: list[GradCheckResult] = []
    for k in range(len(target.inputs)):
        proof = proofs.get(k)
        if proof is None:
            formula = _formula(session, k, noise)
        else:
            formula = Formula(assemble.proven(session, k, proof))
        results.append(cost.of(formula.result))
        if kernel is not None:
            results.append(cost.of(_kernel(session, k, kernel, formula)))
    return tuple(results), found


def _formula(session: Session, k: int, noise: Noise) -> Formula:
    try:
        return check_formula(session, k, noise)
    except core.OutOfTime:
        return Formula(_late(session.target, k, session.dtype))


def _kernel(session: Session, k: int, kernel: KernelTests, formula: Formula) -> GradCheckResult:
    try:
        return check_kernel(session, k, kernel, formula)
    except core.OutOfTime:
        return _late(session.target, k, session.target.dtype)


def _looked_at(session: Session, mode: str) -> list[int]:
    """The inputs that are looked at in that mode, with a gradient to compare."""
    gradients = session.gradients(0, session.dtype)
    return [
        k
        for k, part in enumerate(session.target.inputs)
        if part.value.size > 0
        and choose(session, k) == mode
        and (k, session.dtype) not in session.calls.faults
        and np.isfinite(gradients[k]).all()
    ]


class _Cost:
    """What each result has taken since the one before."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._begun = session.seconds()
        self._before = (session.calls.forwards, session.calls.backwards)

    def of(self, result: GradCheckResult) -> GradCheckResult:
        """The result, with its cost."""
        session, begun, before = self._session, self._begun, self._before
        self._begun = session.seconds()
        self._before = (session.calls.forwards, session.calls.backwards)
        return replace(
            result,
            num_forward=self._before[0] - before[0],
            num_backward=self._before[1] - before[1],
            seconds=self._begun - begun,
            detail="; ".join(text for text in (result.detail, session.note) if text),
        )


def _not_finite(target: Target) -> str:
    for part in target.inputs:
        bad = np.flatnonzero(~np.isfinite(np.asarray(part.value).astype(np.float64)))
        if bad.size:
            value = np.asarray(part.value).reshape(-1)[bad[0]]
            return f"the input '{part.name}' is {value} at {place(part.value.shape, int(bad[0]))}"
    return "f is not finite"


def _all_undecided(session: Session, reason: Reason, detail: str) -> tuple[GradCheckResult, ...]:
    return tuple(
        assemble.undecided(assemble.blank(session.target, k, dtype, "full"), reason, detail)
        for k in range(len(session.target.inputs))
        for dtype in dict.fromkeys((session.dtype, session.target.dtype))
    )


def _check_inputs(target: Target) -> None:
    if not target.inputs:
        raise core.InvalidArgument(f"{target.who}: there must be an input to check, got none")
    if target.dtype not in FLOATING:
        raise core.InvalidArgument(f"{target.who}: dtype must be floating, got {target.dtype}")
    for part in target.inputs:
        name = name_of(part.value.dtype)
        if name not in FLOATING:
            raise core.InvalidArgument(
                f"{target.who}: the input '{part.name}' must be floating to be differentiated by, "
                f"got {name}; leave it out of the inputs that are checked"
            )
        if name != target.dtype:
            raise core.InvalidArgument(
                f"{target.who}: the input '{part.name}' must have the dtype under test, "
                f"{target.dtype}, got {name}"
            )


def _report(
    target: Target,
    config: GradCheckConfig,
    results: tuple[GradCheckResult, ...],
    found: tuple[Audit, ...],
) -> GradCheckReport:
    return GradCheckReport(
        who=target.who,
        results=results,
        audits=found,
        repro="" if target.repro is None else target.repro.text(config),
        source=target.source or "",
        seed=config.seed,
        env=environment(),
    )
