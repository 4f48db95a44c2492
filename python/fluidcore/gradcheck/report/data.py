"""What a check found: plain data, from which every report is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from fluidcore.gradcheck.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True)
class ElementError:
    """One element of a gradient: `for index, analytical, numerical in result.element_errors`.

    Attributes:
        index: Into the flattened input.
        analytical: What the gradient code calculates; float64 of the formula where it was judged.
        numerical: The reference.
        error_bar: How far the reference may be from the truth; 0 with a plain comparison.
        verdict: Of this element.

    In directional mode the elements of a result that fails are the wrong elements that were found;
    else they are directions.
    """

    index: int
    analytical: float
    numerical: float
    error_bar: float
    verdict: Verdict

    def __iter__(self) -> Iterator[float]:
        """Index, analytical and numerical value."""
        return iter((self.index, self.analytical, self.numerical))


class Hypothesis(NamedTuple):
    """A guess at what is wrong that would explain the difference.

    Attributes:
        score: 1 explains everything, 0 nothing.
        text: For example "A = 2 * G".
    """

    score: float
    text: str


class Level(NamedTuple):
    """One step size of the differences along a direction, for the plots of a report.

    Attributes:
        step: h.
        difference: (⟨v, f(x+hd)⟩ - ⟨v, f(x-hd)⟩) / 2h.
        noise: How much of it may be rounding.
        remainder: |⟨v, f(x+hd)⟩ - ⟨v, f(x)⟩ - h⟨A, d⟩|, the Taylor remainder with the claimed
            gradient A: it falls like h² if A is right.
    """

    step: float
    difference: float
    noise: float
    remainder: float


@dataclass(frozen=True, repr=False)
class ResultData:
    """What GradCheckResult holds: the check of the gradient by one input.

    Attributes:
        name: Of the input.
        shape: Of the input.
        dtype: Of the gradient code that was judged.
        place: "cpu" or "gpu".
        mode: "full", "coloured" or "directional".
        verdict: What was found.
        reasons: Why it is not PASS, or a warning.
        max_relative_error: Largest |analytical - numerical| / max(|analytical|, |numerical|, 1e-8);
            the mean and median likewise. In directional mode the elements are directions.
        max_absolute_error: Largest |analytical - numerical|; the mean and median likewise.
        num_elements: How many were checked.
        num_passed: How many are right.
        element_errors: The wrong ones, worst first; all of them if verbose; None if there are none.
        resolution: The smallest relative error that would have been reported (of the worst
            element); inf where nothing would have been.
        min_detectable_99: The relative error of one single element that is found with a
            probability of 99 %; equal to `resolution` in full mode of float64.
        kinks: How many elements are at a kink.
        num_forward: Evaluations of f.
        num_backward: Evaluations of the gradient.
        seconds: Wall time.
        hypotheses: What may be wrong, best first.
        levels: Step sizes along one random direction.
        detail: A sentence for a person: what was seen; empty for PASS.
        num_examples: Of how many checks, at other points and shapes, this is the worst; then
            `resolution` and `min_detectable_99` of a PASS are those of all, the costs their sum.
        num_examples_passed: How many of them are right.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    place: str
    mode: str
    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    max_relative_error: float = 0.0
    mean_relative_error: float = 0.0
    median_relative_error: float = 0.0
    max_absolute_error: float = 0.0
    mean_absolute_error: float = 0.0
    median_absolute_error: float = 0.0
    num_elements: int = 0
    num_passed: int = 0
    element_errors: tuple[ElementError, ...] | None = None
    resolution: float = float("inf")
    min_detectable_99: float = float("inf")
    kinks: int = 0
    num_forward: int = 0
    num_backward: int = 0
    seconds: float = 0.0
    hypotheses: tuple[Hypothesis, ...] = ()
    levels: tuple[Level, ...] = ()
    detail: str = ""
    num_examples: int = 1
    num_examples_passed: int = 1

    @property
    def passed(self) -> bool:
        """Whether the verdict is PASS."""
        return bool(self.verdict)

    @property
    def num_open(self) -> int:
        """How many elements, or directions, a PASS says nothing about; 0 for another verdict."""
        return self.num_elements - self.num_passed if self.passed else 0

    def __bool__(self) -> bool:
        return self.passed


class Audit(NamedTuple):
    """A check that needs no differences.

    Attributes:
        name: For example "linear in the cotangent".
        verdict: PASS or FAIL.
        reason: None for PASS.
        detail: What was seen.
    """

    name: str
    verdict: Verdict
    reason: Reason | None = None
    detail: str = ""


class Culprit(NamedTuple):
    """What is wrong in a program.

    Attributes:
        block: Index of the block.
        op: Index of the operator in the block; -1 where it is missing.
        op_type: For example "matmul_grad".
        slot: The output slot that is wrong, "" if it is the operator as a whole.
        variable: The gradient that is wrong, for example "w@GRAD".
        reason: MISMATCH, KERNEL, FANOUT_SUM, MISSING_ZERO, STALE or CLIP.
        call_site: "train.py:41: layers.fc(h, 10)", the user's own line; "" if unknown.
        detail: A sentence for a person.
    """

    block: int
    op: int
    op_type: str
    slot: str
    variable: str
    reason: Reason
    call_site: str
    detail: str


@dataclass(frozen=True, repr=False)
class ReportData:
    """What GradCheckReport holds: a result for each input, audits, and what was found out.

    Attributes:
        who: The operator, function or program.
        results: A result for each input, and dtype.
        audits: Checks that need no differences.
        culprit: The wrong operator of a program, if one was found.
        repro: Python text that repeats the check; "" if unknown.
        source: "file.py:12" of the gradient code; "" if unknown.
        seed: Of everything random.
        env: Versions and the processor.
        notes: Sentences for a person about the check as a whole: what was left out, and why.
    """

    who: str
    results: tuple[ResultData, ...]
    audits: tuple[Audit, ...] = ()
    culprit: Culprit | None = None
    repro: str = ""
    source: str = ""
    seed: int = 0
    env: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Of everything together."""
        verdicts = [result.verdict for result in self.results]
        return Verdict.together(verdicts + [audit.verdict for audit in self.audits])

    def __bool__(self) -> bool:
        return bool(self.verdict)
