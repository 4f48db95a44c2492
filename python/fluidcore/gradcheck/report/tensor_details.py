"""The part of the page about one gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fluidcore.gradcheck.report.data import ElementError, ReportData, ResultData
from fluidcore.gradcheck.report.heat_map import heat_map
from fluidcore.gradcheck.report.parts import Part, part_of
from fluidcore.gradcheck.report.phrases import GLYPHS, PHRASES, count
from fluidcore.gradcheck.report.plots import histogram, step_plot, taylor_plot
from fluidcore.gradcheck.report.values import (
    escaped,
    place_of,
    precise,
    relative,
    shape_text,
    short,
    sight,
    worst_first,
)
from fluidcore.gradcheck.verdict import Verdict

STYLES = {Verdict.PASS: "p", Verdict.FAIL: "f", Verdict.INCONCLUSIVE: "q"}
_WORST = 10
_DRAWN = 20_000  # elements


def tensor_details(
    report: ReportData, result: ResultData, drawn: str = "", *, is_open: bool = False
) -> str:
    """An element that opens, with all that is known of a gradient, and its plots, if `drawn`."""
    style, glyph = STYLES[result.verdict], GLYPHS[result.verdict]
    part = part_of(result, report.results)
    where = f"{part.of(result.dtype)} {result.place}"
    if result.num_examples > 1:
        where += f", worst of {result.num_examples} examples"
    title = f"<b>{escaped(result.name)}</b> {shape_text(result.shape)} {escaped(where)}"
    parts = [
        f'<details class="tensor {style}"{" open" if is_open else ""}>'
        f"<summary><i>{glyph}</i> {title}</summary>",
        *_reasons(result),
        f"<p>{escaped(result.detail)}</p>" if result.detail else "",
        _hypotheses(result),
        f'<p class="facts">{escaped(_facts(result))}</p>',
        drawn,
        _worst(result, part),
        _repro(report),
        "</details>",
    ]
    return "".join(parts)


def plots(result: ResultData) -> str:
    """The pictures of a gradient; empty where there is nothing to draw."""
    errors = _sampled(worst_first(result.element_errors or ()))
    pictures = [
        heat_map(result, errors),
        histogram(errors) if len(errors) > 1 else "",
        step_plot(result.levels),
        taylor_plot(result.levels),
    ]
    return f'<div class="plots">{"".join(pictures)}</div>' if any(pictures) else ""


def _sampled(errors: Sequence[ElementError]) -> Sequence[ElementError]:
    """The worst half of what is drawn, and every so many-th of the others."""
    if len(errors) <= _DRAWN:
        return errors
    half = _DRAWN // 2
    return [*errors[:half], *errors[half :: math.ceil((len(errors) - half) / half)]]


def _reasons(result: ResultData) -> list[str]:
    if not result.reasons and result.verdict is Verdict.INCONCLUSIVE:
        return ["<p>It could be neither proven nor refuted.</p>"]
    return [
        f"<p><b>{reason.value}</b>: {PHRASES[reason].meaning}. <em>{PHRASES[reason].cure}.</em></p>"
        for reason in result.reasons
    ]


def _hypotheses(result: ResultData) -> str:
    if not result.hypotheses:
        return ""
    items = "".join(
        f'<li><meter value="{_part(guess.score):.2f}">{_part(guess.score):.0%}</meter> '
        f"{_part(guess.score):.0%} {escaped(guess.text)}</li>"
        for guess in result.hypotheses[:5]
    )
    return f"<p>What would explain it:</p><ol>{items}</ol>"


def _part(score: float) -> float:
    return min(max(score, 0.0), 1.0) if math.isfinite(score) else 0.0


def _facts(result: ResultData) -> str:
    noun = "direction" if result.mode == "directional" else "element"
    wrong = result.num_elements - result.num_passed
    how = "undecided" if result.verdict is Verdict.INCONCLUSIVE else "not right"
    facts = [
        f"{wrong} of {count(result.num_elements, noun)} {how}",
        f"relative error: largest {short(result.max_relative_error)}, median "
        f"{short(result.median_relative_error)}",
        f"absolute: largest {short(result.max_absolute_error)}",
        sight(result),
        f"mode {result.mode}: f ran {count(result.num_forward, 'time')}, the gradient "
        f"{count(result.num_backward, 'time')}, in {short(result.seconds)} s",
    ]
    if wrong_examples := result.num_examples - result.num_examples_passed:
        facts.insert(0, f"{wrong_examples} of {count(result.num_examples, 'example')} not right")
    if result.kinks:
        facts.insert(1, f"{count(result.kinks, noun)} at a kink")
    return " · ".join(facts)


def _worst(result: ResultData, part: Part) -> str:
    errors = worst_first(result.element_errors or ())[:_WORST]
    if not errors:
        return ""
    rows = "".join(
        f'<tr class="{STYLES[error.verdict]}"><td><i>{GLYPHS[error.verdict]}</i> '
        f"{place_of(error, result)}<td>{precise(error.analytical)}<td>{precise(error.numerical)}"
        f"<td>{short(error.error_bar)}<td>{short(relative(error))}"
        for error in errors
    )
    return (
        '<div class="wide"><table class="worst"><thead><tr><th>worst<th>gradient A'
        f"<th>{part.reference} G<th>± error bar<th>relative<tbody>{rows}</table></div>"
    )


def _repro(report: ReportData) -> str:
    return (
        f'<pre class="repro">{escaped(report.repro.strip())}</pre>' if report.repro.strip() else ""
    )
