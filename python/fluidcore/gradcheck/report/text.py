"""A report as text of at most 25 lines, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore.gradcheck.report.blocks import block, culprit_text, headline, largest_error
from fluidcore.gradcheck.report.data import ReportData, ResultData
from fluidcore.gradcheck.report.parts import Part, part_of
from fluidcore.gradcheck.report.phrases import GLYPHS, SEVERITY, count
from fluidcore.gradcheck.report.values import one_line, printable, sight
from fluidcore.gradcheck.verdict import Reason, Verdict

LINES = 25
_INPUTS = 6
_AUDITED = {Verdict.FAIL: "failed", Verdict.INCONCLUSIVE: "undecided"}
_AUDITS = 2
_NOTES = 2
_REPRO = 5
_LONG = 1500  # characters that no terminal should show
_WHERE = "print(report.repro), or save r.json: fluidcore gradcheck explain r.json --repro"
_LEAST = 5  # lines that explain the worst gradient


def result_text(result: ResultData, part: Part = Part.WHOLE) -> str:
    """The check of one gradient, or of its formula or kernel alone, in at most 25 lines."""
    lines = [result_line(result, part)]
    return "\n".join([*lines, *block(result, LINES - len(lines), part)])


def result_line(result: ResultData, part: Part = Part.WHOLE) -> str:
    """The check of one gradient on one line."""
    return f"{result.verdict.name}  {headline(result, part)}: {_facts(result, part)}"


def report_text(report: ReportData) -> str:
    """The check of one target, in at most 25 lines: the verdict, every input, and what is wrong."""
    head = report_line(report)
    tail = [
        *_culprit(report),
        *_audits(report),
        *(f"  note: {one_line(note)}" for note in report.notes[:_NOTES]),
        *_source(report),
        *_repro(report),
    ]
    return "\n".join([head, *_inputs(report.results, LINES - 1 - len(tail)), *tail])


def report_line(report: ReportData) -> str:
    """The check of one target on one line."""
    return f"{report.verdict.name}  {one_line(report.who, 120)}: {_summary(report)}"


def reports_text(reports: Sequence[ReportData]) -> str:
    """All reports, a blank line between them, and a line that counts the verdicts."""
    verdicts = [report.verdict for report in reports]
    counts = ", ".join(f"{verdicts.count(v)} {v.name}" for v in SEVERITY if v in verdicts)
    total = f"{count(len(reports), 'report')}: {counts or 'nothing was checked'}"
    return "\n\n".join([*(report_text(report) for report in reports), total]) + "\n"


def _summary(report: ReportData) -> str:
    by_name: dict[str, list[Verdict]] = {}
    for result in report.results:
        by_name.setdefault(result.name, []).append(result.verdict)
    found = [Verdict.together(verdicts) for verdicts in by_name.values()]
    total = len(found)
    parts = []
    if wrong := found.count(Verdict.FAIL):
        parts.append(f"{wrong} of {count(total, 'gradient')} wrong")
    if undecided := found.count(Verdict.INCONCLUSIVE):
        parts.append(f"{undecided} of {count(total, 'gradient')} undecided")
    for verdict, how in _AUDITED.items():
        if audits := sum(audit.verdict is verdict for audit in report.audits):
            parts.append(f"{count(audits, 'audit')} {how}")
    if parts:
        return ", ".join(parts)
    if not total:
        return "no gradient was checked"
    warnings = sum(bool(result.reasons) for result in report.results)
    right = f"{count(total, 'gradient')} right"
    each = [result for result in report.results if result.mode != "directional"]
    if left := sum(result.num_open for result in each):
        right += f", {left} of {sum(result.num_elements for result in each)} elements open"
    return f"{right}, with {count(warnings, 'warning')}" if warnings else right


def _inputs(results: Sequence[ResultData], room: int) -> list[str]:
    """A line for each input, worst first, and below it why it is not right."""
    ordered = sorted(results, key=lambda result: SEVERITY[result.verdict])
    shown = ordered if len(ordered) <= _INPUTS else ordered[: _INPUTS - 1]
    hidden = ordered[len(shown) :]
    room -= len(shown) + bool(hidden)
    left = sum(_has_block(result) for result in shown)
    lines = []
    for result in shown:
        glyph, verdict, part = GLYPHS[result.verdict], result.verdict.name, part_of(result, results)
        lines.append(f"  {glyph} {headline(result, part)}: {verdict}, {_facts(result, part)}")
        if _has_block(result):
            share = room if left == 1 else min(room, max(room // 2, _LEAST))
            explanation = block(result, share, part)
            lines += explanation
            room -= len(explanation)
            left -= 1
    if hidden:
        wrong = sum(not result for result in hidden)
        names = f"{wrong} of them not right" if wrong else "all right"
        lines.append(f"  ... and {count(len(hidden), 'gradient')} more, {names}")
    return lines


def _facts(result: ResultData, part: Part) -> str:
    if result.num_elements == 0 or Reason.NON_FINITE in result.reasons:
        return sight(result)
    return f"{largest_error(result, part)}, {sight(result)}"


def _has_block(result: ResultData) -> bool:
    return bool(not result or result.reasons or result.detail)


def _culprit(report: ReportData) -> list[str]:
    culprit = report.culprit
    if culprit is None:
        return []
    lines = [f"  culprit: {culprit_text(culprit)}"]
    if culprit.call_site:
        lines.append(f"    your line: {one_line(culprit.call_site)}")
    return lines


def _audits(report: ReportData) -> list[str]:
    failed = [audit for audit in report.audits if audit.verdict is not Verdict.PASS]
    lines = []
    for audit in failed[:_AUDITS]:
        reason = f" [{audit.reason.value}]" if audit.reason else ""
        detail = f": {one_line(audit.detail)}" if audit.detail else ""
        lines.append(f"  audit {_AUDITED[audit.verdict]}{reason}: {one_line(audit.name)}{detail}")
    more = len(failed) - _AUDITS
    return [*lines, f"  ... and {count(more, 'audit')} more"] if more > 0 else lines


def _source(report: ReportData) -> list[str]:
    return [f"  gradient code: {one_line(report.source)}"] if report.source else []


def _repro(report: ReportData) -> list[str]:
    lines = printable(report.repro).strip("\n").split("\n") if report.repro.strip() else []
    if not lines:
        return [f"  seed {report.seed}"]
    if len(report.repro) > _LONG:
        return [f"  to repeat (seed {report.seed}): {_WHERE}"]
    if len(lines) > _REPRO:
        rest = f"# {len(lines) - _REPRO + 1} more lines: {_WHERE}"
        lines = [*lines[: _REPRO - 1], rest]
    return [f"  to repeat (seed {report.seed}):", *(f"    {line}".rstrip() for line in lines)]
