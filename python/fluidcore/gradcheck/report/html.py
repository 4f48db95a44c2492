"""Reports as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources

from fluidcore.gradcheck.report.data import ReportData, ResultData
from fluidcore.gradcheck.report.group_details import group_inside, group_row
from fluidcore.gradcheck.report.groups import Column, Group, column_parts, columns, grouped
from fluidcore.gradcheck.report.parts import Part
from fluidcore.gradcheck.report.phrases import GLYPHS, SEVERITY, count
from fluidcore.gradcheck.report.tensor_details import STYLES, plots, tensor_details
from fluidcore.gradcheck.report.values import escaped
from fluidcore.gradcheck.verdict import Verdict

BYTES = 290_000  # what is less important is left out of a page that would be larger
_NOTE = 300  # bytes that say so

_WORDS = {Verdict.FAIL: "wrong", Verdict.INCONCLUSIVE: "undecided", Verdict.PASS: "right"}


def html_text(reports: Sequence[ReportData]) -> str:
    """The page: a matrix of verdicts whose rows open.

    Details of what is not right are kept first, then their plots, then those of what is right, as
    long as the page has no more than `BYTES`; the page says what is left out.
    """
    groups = grouped(reports)
    heads = columns(reports)
    bare = _page(groups, heads, {}, [])
    room = BYTES - _NOTE - len(bare.encode())
    return _page(groups, heads, *_details_within(room, groups))


def _details_within(room: int, groups: Sequence[Group]) -> tuple[dict[int, str], list[str]]:
    """Details by id of the result, in so many bytes, and what there was no room for.

    The worst of each group come first, then what else is notable, then the rest.
    """
    pairs = [[(r, result) for r in g.reports for result in r.results] for g in groups]
    notable = [sorted(filter(_is_notable, group), key=_severity) for group in pairs]
    kinds = (
        ([pair for group in notable for pair in group[:1]], "gradient"),
        ([pair for group in notable for pair in group[1:]], "gradient"),
        ([pair for group in pairs for pair in group if not _is_notable(pair)], "right gradient"),
    )
    first = next((id(result) for _, result in kinds[0][0] if not result), None)
    details: dict[int, str] = {}
    left_out = []
    for some, noun in kinds:
        for what in ("the details", "the plots"):
            missing = 0
            for report, result in some:
                drawn = plots(result) if what == "the plots" else ""
                before = details.get(id(result), "")
                if what == "the plots" and not drawn:
                    continue
                text = tensor_details(report, result, drawn, is_open=id(result) == first)
                growth = len(text.encode()) - len(before.encode())
                if growth > room or (drawn and not before):
                    missing += 1
                    continue
                details[id(result)] = text
                room -= growth
            if missing:
                left_out.append(f"{what} of {count(missing, noun)}")
    return details, left_out


def _is_notable(pair: tuple[ReportData, ResultData]) -> bool:
    return not pair[1] or bool(pair[1].reasons)


def _severity(pair: tuple[ReportData, ResultData]) -> int:
    return SEVERITY[pair[1].verdict]


def _page(
    groups: Sequence[Group],
    heads: Sequence[Column],
    details: Mapping[int, str],
    left_out: Sequence[str],
) -> str:
    style = _asset("page.css") + f":root{{--columns:{len(heads)}}}\n"
    script = _asset("page.js")
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    verdicts = Counter(group.verdict for group in groups)
    counts = ", ".join(f"{verdicts[v]} {_WORDS[v]}" for v in SEVERITY if verdicts[v])
    parts = column_parts([report for group in groups for report in group.reports])
    names = "".join(f"<i>{'<br>'.join(_lines(head, parts[head]))}</i>" for head in heads)
    rows = "".join(
        group_row(
            group, heads, number, group_inside(group, heads, details), _is_open(groups, number)
        )
        for number, group in enumerate(groups)
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Gradient check: {counts or "nothing was checked"}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>Gradient check</h1>
{_totals(verdicts)}
</header>
{_filter(verdicts)}
<main>
<div class="head"><b>checked</b>{names}<span>finding</span></div>
{rows}</main>
<footer>
{_footer(groups, left_out)}
</footer>
<script>{script}</script>
</body>
</html>
"""


def _lines(head: Column, part: Part) -> list[str]:
    """The title of a column, in its lines."""
    return [escaped(text) for text in (part.value, head.dtype, head.place) if text]


def _is_open(groups: Sequence[Group], number: int) -> bool:
    return len(groups) == 1 or (number == 0 and not groups[0].verdict)


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _totals(verdicts: Counter[Verdict]) -> str:
    """The counts in words, and as a bar."""
    total = max(verdicts.total(), 1)
    words, bars, start = [], "", 0.0
    for verdict in SEVERITY:
        if number := verdicts[verdict]:
            style = STYLES[verdict]
            words.append(f'<b class="{style}">{GLYPHS[verdict]} {number} {_WORDS[verdict]}</b>')
            width = 100 * number / total
            bars += f'<rect class="{style}" x="{start:.2f}" width="{width:.2f}" height="4"/>'
            start += width
    said = " ".join(words) or "Nothing was checked."
    bar = '<svg class="total" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
    return f"<p>{said}</p>\n{bar}{bars}</svg>"


def _filter(verdicts: Counter[Verdict]) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" value="{STYLES[v]}" checked> {GLYPHS[v]} {_WORDS[v]} '
        f"{verdicts[v]}</label>"
        for v in SEVERITY
    )
    return (
        '<div id="filter" role="search" hidden><input type="search" placeholder="name or finding" '
        f'aria-label="Show rows that contain">{boxes}<output></output></div>'
    )


def _footer(groups: Sequence[Group], left_out: Sequence[str]) -> str:
    reports = [report for group in groups for report in group.reports]
    facts: dict[str, list[str]] = {"seed": [str(report.seed) for report in reports]}
    for report in reports:
        for name, value in report.env.items():
            facts.setdefault(name, []).append(value)
    passed = {audit.name for report in reports for audit in report.audits if audit.verdict}
    facts["audits passed"] = sorted(passed)
    lines = "".join(
        f"<dt>{escaped(name)}<dd>{escaped(' · '.join(dict.fromkeys(values)))}"
        for name, values in facts.items()
        if values
    )
    named = ", ".join(left_out)
    said = f"<p>To keep the page small, {named} are left out; a .json report has them.</p>"
    return (
        (said if left_out else "")
        + "<p>Beside a verdict: the largest relative error that was found, and the smallest that "
        "would have been seen. ✓ proven right · ✗ wrong · ? could not be decided.</p>"
        + (f"<dl>{lines}</dl>" if lines else "")
    )
