"""What a check finds of other people's operators, and who must look at it."""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.target.target import Target

BUDGET_S = 60.0


class Outcome(NamedTuple):
    """What a check of one operator has found.

    Attributes:
        operator: Its name, with that of its variant.
        dtype: Of the sample.
        verdict: "pass", "fail" or "inconclusive"; "refused" where it cannot be checked, "crash"
            where the checker raises.
        why: Reasons, or what was raised.
    """

    operator: str
    dtype: str
    verdict: str
    why: str


class Sample(NamedTuple):
    """An operator at a point.

    Attributes:
        operator: As of Outcome.
        target: Makes it a target.
    """

    operator: str
    target: Callable[[], Target]


def outcome_of(sample: Sample, dtype: str, second_order: bool) -> Outcome:
    """Checks an operator at a sample, if asked for the gradient of its gradient, too."""
    config = GradCheckConfig(budget_s=BUDGET_S, explain=False, second_order=second_order)
    try:
        report = run_check(sample.target(), config)
    except core.InvalidArgument as error:
        return Outcome(sample.operator, dtype, "refused", _line(error))
    except Exception as error:
        why = f"{type(error).__name__}: {_line(error)}"
        return Outcome(sample.operator, dtype, "crash", why)
    unproven = [one for one in (*report.results, *report.audits) if not one.verdict]
    return Outcome(sample.operator, dtype, report.verdict.value, "; ".join(map(_why, unproven)))


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:160]


def _why(part: Any) -> str:
    reasons = part.reasons if hasattr(part, "reasons") else (part.reason,)
    shown = ", ".join(reason.value for reason in reasons if reason)
    return f"{part.name}: {shown}" + (f" ({part.detail})" if part.detail else "")


def print_unproven(outcome: Outcome, explanation: str) -> None:
    """A line for a gradient that does not pass."""
    if outcome.verdict == "pass":
        return
    failed = f"{explanation or 'not explained'} [{outcome.why}]"
    why = failed if outcome.verdict == "fail" else outcome.why
    print(f"{outcome.verdict:12} {outcome.dtype} {outcome.operator}: {why}", flush=True)


def check_all(
    what: str,
    samples_of: Callable[[str, str, int], Iterable[Sample]],
    explanations: Mapping[str, str],
) -> int:
    """Checks what the command line asks for.

    Args:
        what: The first line of the help.
        samples_of: The samples of the operators whose name a regular expression finds, in a dtype,
            so many of each.
        explanations: By operator, why its gradient fails.

    Returns:
        1 if a gradient fails that nobody explains, or the checker raises; else 0.
    """
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--samples", type=int, default=1, help="of each operator")
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--second-order", action="store_true", help="gradients of gradients, too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")

    def is_right(outcome: Outcome) -> bool:
        is_explained = outcome.verdict == "fail" and outcome.operator in explanations
        return is_explained or outcome.verdict not in ("fail", "crash")

    def outcomes(dtype: str) -> Iterator[Outcome]:
        for sample in samples_of(options.only, dtype, options.samples):
            outcome = outcome_of(sample, dtype, options.second_order)
            print_unproven(outcome, explanations.get(outcome.operator, ""))
            yield outcome

    all_right = True
    for dtype in options.dtypes.split(","):
        begun = time.monotonic()
        found = list(outcomes(dtype))
        all_right &= all(map(is_right, found))
        counts = Counter(one.verdict for one in found)
        shown = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        seconds = time.monotonic() - begun
        print(f"{dtype}: {len(found)} samples, {shown}, {seconds:.0f} s", flush=True)
    return int(not all_right)
