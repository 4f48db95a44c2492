"""Judgements made into results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.flags import Indices, Mask, has_kink
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.report.data import ElementError, Level
from fluidcore.gradcheck.report.errors import SMALLEST, statistics
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.report.values import worst_first
from fluidcore.gradcheck.target.target import Doubles, Target
from fluidcore.gradcheck.verdict import Reason, Verdict

LATE = "there was no time left"


def blank(target: Target, k: int, dtype: str, mode: str) -> GradCheckResult:
    """A result without elements: PASS until something is found."""
    part = target.inputs[k]
    return GradCheckResult(
        name=part.name,
        shape=tuple(part.value.shape),
        dtype=dtype,
        place=target.place,
        mode=mode,
        verdict=Verdict.PASS,
        resolution=0.0,
        min_detectable_99=0.0,
    )


def undecided(base: GradCheckResult, reason: Reason, detail: str) -> GradCheckResult:
    """INCONCLUSIVE as a whole."""
    return replace(
        base,
        verdict=Verdict.INCONCLUSIVE,
        reasons=(reason,),
        detail=detail,
        resolution=float("inf"),
        min_detectable_99=float("inf"),
    )


def late(base: GradCheckResult) -> GradCheckResult:
    """INCONCLUSIVE because the time that was allowed is over."""
    return undecided(base, Reason.BUDGET, LATE)


def refused(base: GradCheckResult, reason: Reason, detail: str) -> GradCheckResult:
    """FAIL as a whole."""
    return replace(base, verdict=Verdict.FAIL, reasons=(reason,), detail=detail)


def not_finite(base: GradCheckResult, gradient: Doubles) -> GradCheckResult:
    """FAIL of a gradient that holds a NaN or an infinity."""
    bad = np.flatnonzero(~np.isfinite(gradient))
    errors = tuple(
        ElementError(int(i), float(gradient[i]), float("nan"), 0.0, Verdict.FAIL) for i in bad[:10]
    )
    where = place(base.shape, int(bad[0]))
    count = f"{bad.size} of {gradient.size} are not finite"
    detail = f"the gradient is {gradient[bad[0]]:g} at {where}; {count}"
    return replace(
        refused(base, Reason.NON_FINITE, detail),
        num_elements=gradient.size,
        num_passed=int(np.isfinite(gradient).sum()),
        element_errors=errors,
        max_absolute_error=float("inf"),
        max_relative_error=float("inf"),
    )


class _Judged:
    """A judgement of some elements, and what a report says of it."""

    def __init__(
        self, judgement: core.Judgement, reference: core.Derivatives, elements: Indices
    ) -> None:
        self.judgement = judgement
        self.elements = elements
        self.verdict = Verdict(judgement.verdict)
        self.is_wrong: Mask = np.any(judgement.wrong, axis=0)
        self.is_open = judgement.open()
        self.at_kink = has_kink(reference.flags)
        self.doubts = tuple(map(Reason, judgement.doubts(reference.flags)))
        rows, self.excess = judgement.worst()
        columns = np.arange(elements.size)
        self.analytical = judgement.analytical[rows, columns]
        self.nearest = judgement.nearest[rows, columns]
        self.error = reference.error[rows, columns]
        self.limit = judgement.limit[rows, columns]

    @property
    def resolution(self) -> float:
        """The relative error that would have been seen."""
        counted = self.judgement.counted
        if (self.judgement.unsure & self.at_kink & counted).any():
            return float("inf")
        return float(np.max(self.judgement.resolution, initial=0.0, where=counted))

    def reasons(self, failing: Reason) -> tuple[Reason, ...]:
        """Of the verdict."""
        if self.verdict is Verdict.FAIL:
            return (failing,) if (self.is_wrong & (self.excess > 1)).any() else (Reason.KINK,)
        return self.doubts if self.verdict is Verdict.INCONCLUSIVE else ()

    def listed(self, verbose: bool) -> tuple[ElementError, ...]:
        """The wrong elements, or all, the worst first."""
        shown = np.flatnonzero(self.judgement.counted if verbose else self.is_wrong).tolist()
        order = sorted(shown, key=lambda j: (not self.is_wrong[j], -self.excess[j], j))
        return tuple(self._element(j, int(self.elements[j])) for j in order)

    def _element(self, j: int, index: int) -> ElementError:
        verdict = Verdict.INCONCLUSIVE if self.is_open[j] else Verdict.PASS
        return ElementError(
            index,
            float(self.analytical[j]),
            float(self.nearest[j]),
            float(self.error[j]),
            Verdict.FAIL if self.is_wrong[j] else verdict,
        )


def of_elements(
    base: GradCheckResult,
    judgement: core.Judgement,
    reference: core.Derivatives,
    elements: Indices,
    *,
    failing: Reason,
    verbose: bool,
    detectable: float | None = None,
) -> GradCheckResult:
    """The result of a judgement.

    Args:
        base: What is known already.
        judgement: [r, n].
        reference: What it rests on.
        elements: [n], indices into the flattened input, or of directions.
        failing: The reason of a FAIL.
        verbose: Whether right elements are listed, too.
        detectable: The smallest relative error that is found; None: the resolution.
    """
    counted = judgement.counted
    if counted.size and not counted.any():
        return undecided(base, Reason.NO_ELEMENTS, "all elements are at kinks, and left out")
    found = _Judged(judgement, reference, elements)
    known = counted & np.isfinite(found.error)
    listed = found.listed(verbose)
    resolution = found.resolution
    return replace(
        base,
        verdict=found.verdict,
        reasons=found.reasons(failing),
        num_elements=int(np.count_nonzero(counted)),
        num_passed=int(np.count_nonzero(~found.is_wrong & ~found.is_open & counted)),
        element_errors=listed or None,
        resolution=resolution,
        min_detectable_99=resolution if detectable is None else detectable,
        kinks=int(np.count_nonzero(found.at_kink)),
        detail=_detail(base.shape, found, listed, failing, reference.failure),
        **statistics(found.analytical[known], found.nearest[known]),
    )


def of_directions(base: GradCheckResult, found: core.Directional, verbose: bool) -> GradCheckResult:
    """The result of a directional check; the wrong elements are those that the search found."""
    probes = np.arange(found.judgement.wrong.shape[1], dtype=np.int64)
    result = of_elements(
        replace(base, shape=probes.shape),  # of what is indexed
        found.judgement,
        found.reference,
        probes,
        failing=Reason.MISMATCH,
        verbose=verbose,
    )
    result = replace(result, shape=base.shape, min_detectable_99=found.min_detectable_99)
    if result.verdict is not Verdict.FAIL:
        return result
    count = int(np.count_nonzero(found.judgement.wrong))
    detail = f"wrong along {count} of {len(probes)} random directions"
    culprits = [
        _Judged(judgement, reference, np.array([i])) for i, reference, judgement in found.culprits
    ]
    culprits.sort(key=lambda one: -float(one.excess[0]))
    listed = tuple(error for one in culprits for error in one.listed(verbose))
    if listed:
        first = listed[0]
        detail += (
            f"; {place(base.shape, first.index)} is {first.analytical:.9g}, "
            f"numerically {first.numerical:.9g} ± {first.error_bar:.2g}"
        )
    return replace(result, detail=detail, element_errors=listed or None)


def with_digits(result: GradCheckResult, narrow: str | None) -> GradCheckResult:
    """The result, or FAIL where the gradient was rounded through the dtype `narrow`."""
    if narrow is None:
        return result
    detail = f"every element is a number of {narrow}, though the gradient is not"
    return replace(
        result,
        verdict=Verdict.FAIL,
        reasons=(Reason.NARROWED, *(result.reasons if result.verdict is Verdict.FAIL else ())),
        detail="; ".join(text for text in (detail, result.detail) if text),
    )


def without_elements(base: GradCheckResult) -> GradCheckResult:
    """PASS: of no element, each is right."""
    return replace(base, detail="there are no elements")


def proven(session: Session, k: int, proof: core.Proof) -> GradCheckResult:
    """PASS: the one direction of all inputs that was looked at agrees with the gradient."""
    distance = abs(proof.analytical - proof.numerical)
    relative = distance / max(abs(proof.analytical), abs(proof.numerical), SMALLEST)
    shown = ElementError(0, proof.analytical, proof.numerical, proof.error, Verdict.PASS)
    part = session.target.inputs[k]
    return GradCheckResult(
        name=part.name,
        shape=tuple(part.value.shape),
        dtype=session.dtype,
        place=session.target.place,
        mode="directional",
        verdict=Verdict.PASS,
        max_relative_error=relative,
        mean_relative_error=relative,
        median_relative_error=relative,
        max_absolute_error=distance,
        mean_absolute_error=distance,
        median_absolute_error=distance,
        num_elements=1,
        num_passed=1,
        element_errors=(shown,) if session.config.verbose else None,
        resolution=proof.resolution,
        min_detectable_99=proof.min_detectable_99,
        levels=tuple(Level(*level) for level in proof.levels),
    )


def _detail(
    shape: Sequence[int],
    found: _Judged,
    listed: Sequence[ElementError],
    failing: Reason,
    failure: str | None,
) -> str:
    total = int(np.count_nonzero(found.judgement.counted))
    if found.verdict is Verdict.FAIL:
        count = int(np.count_nonzero(found.is_wrong))
        off = set(found.elements[found.excess > 1].tolist())
        wrong = [error for error in listed if error.verdict is Verdict.FAIL]
        apart = worst_first(error for error in wrong if error.index in off)
        if not apart:
            return f"{place(shape, listed[0].index)} is at a kink; {count} of {total} are"
        first = apart[0]
        column = int(np.flatnonzero(found.elements == first.index)[0])
        right, what = f"compared with {first.numerical:.9g}", "rounding allows"
        if first.error_bar:
            source = "by the formula" if failing is Reason.KERNEL else "numerically"
            right = f"{source} {first.numerical:.9g} ± {first.error_bar:.2g}"
            what = "error bar and rounding allow"
        return (
            f"{place(shape, first.index)} is {first.analytical:.9g}, {right}: off by "
            f"{abs(first.analytical - first.numerical):.3g}, more than the "
            f"{found.limit[column]:.2g} that {what}; {count} of {total} are wrong"
        )
    count = int(np.count_nonzero(found.is_open))
    if count == 0:
        return ""
    why = ", ".join(reason.value for reason in found.doubts)
    text = f"{count} of {total} cannot be judged: {why}"
    return f"{text}; f raised: {failure}" if failure else text


def place(shape: Sequence[int], index: int) -> str:
    """Where an element of the flattened array is, in words."""
    if not shape:
        return "the element"
    return f"element {[int(i) for i in np.unravel_index(index, shape)]}"
