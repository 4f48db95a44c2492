"""Reports as JUnit XML, as Jenkins, GitLab and pytest know it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from fluidcore.gradcheck.report.blocks import culprit_text, headline, largest_error, reason_texts
from fluidcore.gradcheck.report.data import Audit, ReportData, ResultData
from fluidcore.gradcheck.report.parts import part_of
from fluidcore.gradcheck.report.text import report_text, result_text
from fluidcore.gradcheck.report.values import one_line, printable
from fluidcore.gradcheck.verdict import Verdict

_OUTCOMES = {
    Verdict.FAIL: ("failure", "GradMismatch"),
    Verdict.INCONCLUSIVE: ("error", "Inconclusive"),
}


def junit_text(reports: Sequence[ReportData]) -> str:
    """A test suite for each report, with a test case for each gradient and each audit.

    FAIL is a <failure>, INCONCLUSIVE an <error>.
    """
    root = Xml.Element("testsuites", name="fluidcore.gradcheck")
    for report in reports:
        root.append(_suite(report))
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, 0)) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', 0)) for suite in root):.3f}")
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _suite(report: ReportData) -> Xml.Element:
    suite = Xml.Element("testsuite", name=_name(report.who))
    properties = Xml.SubElement(suite, "properties")
    facts = {"seed": str(report.seed), "source": report.source, "repro": report.repro, **report.env}
    if report.culprit is not None:
        facts["culprit"] = f"{culprit_text(report.culprit)} {report.culprit.call_site}".strip()
    listed = [*facts.items(), *(("note", note) for note in report.notes)]
    for name, value in listed:
        if value:
            Xml.SubElement(properties, "property", name=printable(name), value=printable(value))
    for result in report.results:
        _gradient(suite, report, result)
    for audit in report.audits:
        _audit(suite, report, audit)
    if not report.results and not report.audits:
        case = Xml.SubElement(suite, "testcase", name="a gradient", classname=_name(report.who))
        _outcome(case, Verdict.INCONCLUSIVE, "nothing was checked", report_text(report))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for total, element in (("failures", "failure"), ("errors", "error")):
        suite.set(total, str(len(suite.findall(f"testcase/{element}"))))
    suite.set("time", f"{sum(_seconds(result) for result in report.results):.3f}")
    return suite


def _gradient(suite: Xml.Element, report: ReportData, result: ResultData) -> None:
    part = part_of(result, report.results)
    name = headline(result, part)
    case = Xml.SubElement(suite, "testcase", name=name, classname=_name(report.who))
    case.set("time", f"{_seconds(result):.3f}")
    message = f"{name}: {largest_error(result, part)}"
    if reasons := reason_texts(result):
        message += f"; {reasons[0]}"
    text = result_text(result, part)
    if report.repro:
        text += f"\n  to repeat (seed {report.seed}):\n{printable(report.repro)}"
    _outcome(case, result.verdict, message, text)
    if result and result.reasons:  # a warning
        Xml.SubElement(case, "system-out").text = text


def _audit(suite: Xml.Element, report: ReportData, audit: Audit) -> None:
    name = f"audit: {one_line(audit.name)}"
    case = Xml.SubElement(suite, "testcase", name=name, classname=_name(report.who), time="0.000")
    reason = f"{audit.reason.value}: " if audit.reason else ""
    detail = f"{reason}{one_line(audit.detail)}"
    _outcome(case, audit.verdict, detail, report_text(report))


def _outcome(case: Xml.Element, verdict: Verdict, message: str, text: str) -> None:
    if verdict is not Verdict.PASS:
        tag, kind = _OUTCOMES[verdict]
        element = Xml.SubElement(case, tag, type=kind, message=printable(message))
        element.text = text


def _name(who: str) -> str:
    return one_line(who, 200) or "?"


def _seconds(result: ResultData) -> float:
    return max(result.seconds, 0.0) if math.isfinite(result.seconds) else 0.0
