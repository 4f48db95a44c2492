"""The row of the matrix about one operator, and what is inside when it is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fluidcore.gradcheck.report.blocks import culprit_place
from fluidcore.gradcheck.report.data import Audit, Culprit, ReportData, ResultData
from fluidcore.gradcheck.report.groups import Column, Group, Row, column_parts
from fluidcore.gradcheck.report.phrases import GLYPHS, PHRASES, SEVERITY, count
from fluidcore.gradcheck.report.tensor_details import STYLES
from fluidcore.gradcheck.report.values import escaped, is_seen, one_line, seen, shape_text, short
from fluidcore.gradcheck.verdict import Verdict

_NAME, _HEADLINE = 60, 110
_ROWS = 12


def group_row(
    group: Group, columns: Sequence[Column], number: int, inside: str, is_open: bool
) -> str:
    """A row that opens: a name, a verdict for each column, and the most important finding."""
    cells = "".join(_cell(group.cell(column)) for column in columns)
    style, state = STYLES[group.verdict], " open" if is_open else ""
    name = escaped(one_line(group.who, _NAME))
    return (
        f'<details class="{style}" id="o{number}"{state}><summary><b>{name}</b>{cells}'
        f"<span>{escaped(_headline(group))}</span></summary>{inside}</details>\n"
    )


def group_inside(group: Group, columns: Sequence[Column], details: Mapping[int, str]) -> str:
    """Of an operator: a table of its gradients, audits, culprits, and `details` by id of result."""
    sources = dict.fromkeys(report.source for report in group.reports if report.source)
    code = f'<p class="facts">gradient code: {escaped(", ".join(sources))}</p>' if sources else ""
    culprits = (_culprit(report.culprit) for report in group.reports if report.culprit)
    notes = dict.fromkeys(note for report in group.reports for note in report.notes)
    noted = "".join(f'<p class="facts">note: {escaped(note)}</p>' for note in notes)
    more = "".join(details.get(id(result), "") for result in group.results())
    parts = (code, *culprits, _table(group, columns), _audits(group.reports), noted, more)
    return f'<div class="inside">{"".join(parts)}</div>'


def _cell(verdict: Verdict | None) -> str:
    return "<i>·</i>" if verdict is None else f'<i class="{STYLES[verdict]}">{GLYPHS[verdict]}</i>'


def _headline(group: Group) -> str:
    reports, results, verdict = group.reports, group.results(), group.verdict
    if culprit := next((report.culprit for report in reports if report.culprit), None):
        return one_line(f"{culprit.reason.value}: {culprit.op_type} {culprit.call_site}", _HEADLINE)
    if verdict is Verdict.PASS:
        warnings = ", ".join(reason.value for reason in group.reasons())
        return warnings or _seen_in(results)
    for result in results:
        if result.verdict is verdict:
            guess = result.hypotheses[0].text if result.hypotheses else result.detail
            reasons = ", ".join(reason.value for reason in result.reasons) or verdict.value
            return one_line(f"{result.name}: {reasons}; {guess}".removesuffix("; "), _HEADLINE)
    audits = [a for report in reports for a in report.audits if a.verdict is verdict]
    return one_line(f"audit: {audits[0].name}", _HEADLINE) if audits else "nothing was checked"


def _seen_in(results: Sequence[ResultData]) -> str:
    """The error that would be seen everywhere; the dtypes with elements that cannot be judged."""
    clear = [result.resolution for result in results if is_seen(result.resolution)]
    blurred = dict.fromkeys(r.dtype for r in results if not is_seen(r.resolution))
    text = f"{seen(max(clear))} would be seen" if clear else ""
    if blurred:
        text += f"{'; ' if clear else ''}in {', '.join(blurred)} not in every element"
    return text or "nothing would be seen"


def _table(group: Group, columns: Sequence[Column]) -> str:
    """The worst inputs one by one, the others together."""
    rows, parts = group.rows(), column_parts(group.reports)
    used = [column for column in columns if any(column in row.results for row in rows)]
    if not used:
        return "<p>No gradient was checked.</p>"
    head = "".join(f"<th>{escaped(parts[c].of(c.dtype))} {escaped(c.place)}" for c in used)
    shown = rows if len(rows) <= _ROWS else rows[: _ROWS - 1]
    lines = [
        _line(f"{escaped(one_line(row.name, _NAME))} {_shape(row)}", [row], used) for row in shown
    ]
    if rest := rows[len(shown) :]:
        lines.append(_line(f"and {len(rest)} more", rest, used))
    body = "".join(lines)
    return f'<div class="wide"><table><thead><tr><th>input{head}<tbody>{body}</table></div>'


def _shape(row: Row) -> str:
    if row.shape is not None:
        return shape_text(row.shape)
    counts = {result.num_examples for result in row.results.values()}
    most = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"
    return f"(worst of {most} examples)"


def _line(title: str, rows: Sequence[Row], columns: Sequence[Column]) -> str:
    cells = ([row.results[c] for row in rows if c in row.results] for c in columns)
    return f"<tr><th>{title}" + "".join(map(_worst, cells))


def _worst(results: Sequence[ResultData]) -> str:
    """A cell: the verdict, the largest error found, and what would have been seen everywhere."""
    if not results:
        return "<td>·"
    verdict = min((result.verdict for result in results), key=SEVERITY.__getitem__)
    largest = short(max(result.max_relative_error for result in results))
    sees = seen(max(result.resolution for result in results))
    glyph = GLYPHS[verdict]
    return f'<td class="{STYLES[verdict]}"><i>{glyph}</i> {largest} <small>{sees}</small>'


def _audits(reports: Sequence[ReportData]) -> str:
    passed, failed = 0, []
    for report in reports:
        failed += [_audit(report, audit) for audit in report.audits if not audit.verdict]
        passed += sum(bool(audit.verdict) for audit in report.audits)
    listed = f"<ul>{''.join(dict.fromkeys(failed))}</ul>" if failed else ""
    return listed + (f'<p class="facts">{count(passed, "audit")} passed</p>' if passed else "")


def _audit(report: ReportData, audit: Audit) -> str:
    dtypes = ", ".join(dict.fromkeys(result.dtype for result in report.results))
    reason = (
        f" <b>{audit.reason.value}</b>: {PHRASES[audit.reason].meaning}." if audit.reason else ""
    )
    return (
        f'<li class="{STYLES[audit.verdict]}"><i>{GLYPHS[audit.verdict]}</i> audit '
        f"<b>{escaped(audit.name)}</b> ({escaped(dtypes)}):{reason} {escaped(audit.detail)}</li>"
    )


def _culprit(culprit: Culprit) -> str:
    detail = f"<p>{escaped(culprit.detail)}</p>" if culprit.detail else ""
    site = f"<pre>{escaped(culprit.call_site)}</pre>" if culprit.call_site else ""
    return (
        f'<div class="culprit"><p><b>{escaped(culprit.op_type)}</b> is wrong '
        f"({escaped(culprit_place(culprit))}). <b>{culprit.reason.value}</b>: "
        f"{PHRASES[culprit.reason].meaning}.</p>{site}{detail}</div>"
    )
