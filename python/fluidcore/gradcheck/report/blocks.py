"""What is wrong with one gradient, in lines of text."""

from __future__ import annotations

import math

from fluidcore.gradcheck.report.data import Culprit, ElementError, ResultData
from fluidcore.gradcheck.report.parts import Part
from fluidcore.gradcheck.report.phrases import PHRASES
from fluidcore.gradcheck.report.values import (
    one_line,
    place_of,
    precise,
    relative,
    shape_text,
    short,
    worst_first,
)
from fluidcore.gradcheck.verdict import Verdict

_REASONS = 3
_HYPOTHESES = 2
_WORST = 10


def headline(result: ResultData, part: Part = Part.WHOLE) -> str:
    """Which gradient it is: name, shape, part, place and mode; of how many it is the worst."""
    name = one_line(result.name, 80)
    among = f", worst of {result.num_examples} examples" if result.num_examples > 1 else ""
    shape = shape_text(result.shape)
    return f"{name} {shape} {part.of(result.dtype)} {result.place}, {result.mode}{among}"


def largest_error(result: ResultData, part: Part = Part.WHOLE) -> str:
    """The largest error that was found, and beside what if that is not the numerical gradient."""
    beside = " beside the formula" if part is Part.KERNEL else ""
    return f"largest relative error{beside} {short(result.max_relative_error)}"


def examples_text(result: ResultData) -> str:
    """How many of several examples are not right; empty for a single one, or where all are."""
    wrong = result.num_examples - result.num_examples_passed
    if result.num_examples == 1 or wrong == 0:
        return ""
    return f"{wrong} of {result.num_examples} examples not right; of the worst of them:"


def reason_texts(result: ResultData) -> list[str]:
    """Each reason in words, and its cure."""
    if not result.reasons and result.verdict is Verdict.INCONCLUSIVE:
        return ["inconclusive: this could be neither proven nor refuted"]
    phrases = [(reason.value, *PHRASES[reason]) for reason in result.reasons]
    return [f"{name}: {meaning}; {cure}" for name, meaning, cure in phrases]


def culprit_place(culprit: Culprit) -> str:
    """Where in a program it is, and what of it is wrong."""
    where = f"operator {culprit.op} of block {culprit.block}"
    if culprit.op < 0:
        where = f"missing in block {culprit.block}"
    slot = f", output {culprit.slot}" if culprit.slot else ""
    wrong = f", gradient {culprit.variable}" if culprit.variable else ""
    return where + slot + wrong


def culprit_text(culprit: Culprit) -> str:
    """Which operator of a program is wrong, on one line."""
    detail = f"; {one_line(culprit.detail)}" if culprit.detail else ""
    what = one_line(f"{culprit.op_type} ({culprit_place(culprit)})", 200)
    return f"{what}: {culprit.reason.value}{detail}"


def block(result: ResultData, limit: int, part: Part = Part.WHOLE) -> list[str]:
    """Reasons with their cure, what was seen, hypotheses, and the worst elements.

    Where there is not room for all in `limit` lines, a reason and the worst element come first.
    """
    worst = worst_first(result.element_errors or ())[:_WORST]
    elements = [_element(error, result, part) for error in worst]
    ranked = [(2, text)] if (text := examples_text(result)) else []
    ranked += list(enumerate(reason_texts(result)[:_REASONS]))
    if result.detail:
        ranked.append((2, one_line(result.detail)))
    for rank, guess in enumerate(result.hypotheses[:_HYPOTHESES]):
        ranked.append((3 + 9 * rank, f"perhaps {one_line(guess.text)} ({guess.score:.0%})"))
    if elements:
        ranked.append((4, _count(result)))
    ranked += [(1 if rank == 0 else 5, text) for rank, text in enumerate(elements)]
    kept = sorted(range(len(ranked)), key=lambda i: ranked[i][0])[: max(limit, 0)]
    return [f"      {ranked[i][1]}" for i in sorted(kept)]


def _count(result: ResultData) -> str:
    wrong = result.num_elements - result.num_passed
    if result.mode == "directional":
        return f"{wrong} of {result.num_elements} directions not right; found:"
    if wrong == 0:
        return f"all {result.num_elements} elements right; those with the largest errors:"
    return f"{wrong} of {result.num_elements} elements not right; the worst:"


def _element(error: ElementError, result: ResultData, part: Part) -> str:
    if math.isnan(error.numerical):
        return f"  {place_of(error, result)}: gradient {precise(error.analytical)}"
    bar = f" ± {short(error.error_bar)}" if error.error_bar else ""
    undecided = ", undecided" if error.verdict is Verdict.INCONCLUSIVE else ""
    return (
        f"  {place_of(error, result)}: gradient {precise(error.analytical)}, "
        f"{part.reference} {precise(error.numerical)}{bar}, "
        f"relative error {short(relative(error))}{undecided}"
    )
