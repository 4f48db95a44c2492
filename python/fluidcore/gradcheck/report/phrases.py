"""Verdicts and reasons in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fluidcore.gradcheck.verdict import Reason, Verdict

GLYPHS: Mapping[Verdict, str] = {Verdict.PASS: "✓", Verdict.FAIL: "✗", Verdict.INCONCLUSIVE: "?"}

SEVERITY: Mapping[Verdict, int] = {Verdict.FAIL: 0, Verdict.INCONCLUSIVE: 1, Verdict.PASS: 2}


class Phrase(NamedTuple):
    """What a reason means, and what to do about it; both without a full stop."""

    meaning: str
    cure: str


PHRASES: Mapping[Reason, Phrase] = {
    Reason.MISMATCH: Phrase(
        "the formula of the gradient differs from the numerical derivative",
        "correct the gradient code; the elements show where it is wrong",
    ),
    Reason.KERNEL: Phrase(
        "the kernel of this dtype calculates something else than the formula does in float64",
        "compare this kernel with the float64 one",
    ),
    Reason.NARROWED: Phrase(
        "the gradient has fewer digits than its dtype: it was rounded through a narrower one",
        "look for a cast, or a buffer, of fewer bits between the cotangent and the gradient",
    ),
    Reason.NON_FINITE: Phrase(
        "the gradient is infinite or not a number where it should be finite",
        "look for a division by zero, an overflow, or a logarithm of zero",
    ),
    Reason.NOT_LINEAR: Phrase(
        "the gradient is not linear in its cotangent",
        "multiply by the cotangent exactly once, and add nothing that does not contain it",
    ),
    Reason.COTANGENT: Phrase(
        "the gradient depends on how its cotangent is stored",
        "let backward take cotangents of any strides, and None for an output that is not used",
    ),
    Reason.NOT_REPEATABLE: Phrase(
        "a second run gives other bits",
        "add numbers in a fixed order, and start from memory that is set",
    ),
    Reason.WRONG_SHAPE: Phrase(
        "the gradient does not have the shape of its input",
        "sum over the axes that were broadcast, and restore the shape",
    ),
    Reason.WRONG_DTYPE: Phrase(
        "the gradient does not have the dtype of its input",
        "cast the gradient to the dtype of its input",
    ),
    Reason.INPUT_CHANGED: Phrase(
        "the code changes what it was given",
        "work on a copy",
    ),
    Reason.TOLERANCE: Phrase(
        "the difference exceeds a tolerance that was given",
        "correct the gradient; if the step is to blame, give neither epsilon nor tolerances, so "
        "that error bars decide",
    ),
    Reason.FANOUT_SUM: Phrase(
        "a variable is used several times, and its partial gradients are not summed correctly",
        "add every partial gradient exactly once",
    ),
    Reason.MISSING_ZERO: Phrase(
        "a gradient that nobody calculates is not filled with zeros",
        "fill it with zeros before it is read",
    ),
    Reason.STALE: Phrase(
        "the gradient reads a value that is no longer the one of the forward run",
        "keep the value of the forward run, and do not write over it",
    ),
    Reason.CLIP: Phrase(
        "error_clip changes the gradient, so that it is no derivative any more",
        "check without the clip, or widen its limits",
    ),
    Reason.MISSING: Phrase(
        "the loss depends on a parameter through a slot that gradients do not pass",
        "set stop_gradient=True where that is meant, or calculate it with operators that have a "
        "gradient",
    ),
    Reason.NOISE: Phrase(
        "rounding in the function is larger than the errors to look for",
        "give float64 values, values of the size of 1, or a coarser resolution",
    ),
    Reason.KINK: Phrase(
        "the function has a kink at this point and no derivative, or changes faster than any step",
        "move the values away from the kink, or closer to 0",
    ),
    Reason.JUMP: Phrase(
        "the function jumps at this point",
        "move the values away from the jump",
    ),
    Reason.DOMAIN: Phrase(
        "the function cannot be calculated on either side of this point",
        "choose values inside its domain, away from the edge",
    ),
    Reason.ABSORPTION: Phrase(
        "steps of the input vanish in the rounding of a sum, so that the output never moves",
        "give float64 values, or make the other terms of the sum smaller",
    ),
    Reason.STOCHASTIC: Phrase(
        "the function gives other numbers each time at the same point",
        "fix the seed of everything random, for example of dropout",
    ),
    Reason.NO_SECOND: Phrase(
        "the gradient cannot be differentiated again",
        "write it in operators that have a gradient, or do not ask for the second order",
    ),
    Reason.NO_ELEMENTS: Phrase(
        "there is no element to check",
        "give an input that is not empty",
    ),
    Reason.BUDGET: Phrase(
        "the time was over before this was decided",
        "raise budget_s, check a subset, or use mode='directional'",
    ),
    Reason.PRECISION_LOSS: Phrase(
        "the gradient is right, but less precise than its dtype allows",
        "accumulate in a wider dtype",
    ),
}


def count(number: int, noun: str) -> str:
    """For example "1 gradient" or "3 gradients"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
