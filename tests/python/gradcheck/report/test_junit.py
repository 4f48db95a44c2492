from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import samples

from fluidcore.gradcheck.report.junit import junit_text
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.report.saving import save
from fluidcore.gradcheck.verdict import Reason

# What the schema of Jenkins' xUnit plugin (junit-10.xsd) allows, as far as reports use it.
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure", "error", "system-out"},
}
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "time", "tests", "failures", "errors"},
    "testcase": {"name", "time", "classname"},
    "property": {"name", "value"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
}


def parsed(reports: list[GradCheckReport]) -> Xml.Element:
    return Xml.fromstring(junit_text(reports))


def case(root: Xml.Element, name: str) -> Xml.Element:
    return next(c for c in root.iter("testcase") if c.get("name", "").startswith(name))


def test_only_elements_and_attributes_of_the_schema_are_used() -> None:
    for element in parsed([*samples.few(), *samples.many(5)]).iter():
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        assert set(element.keys()) <= ATTRIBUTES.get(element.tag, set())
    assert parsed([]).get("tests") == "0"


def test_what_is_wrong_is_a_failure_with_the_text_and_what_repeats_it() -> None:
    report = samples.few()[0]
    failed = case(parsed([report]), "y [5, 3] float64 cpu, full")
    failure = failed.find("failure")
    assert failure is not None
    assert failure.get("type") == "GradMismatch"
    assert "largest relative error 0.5; grad-mismatch:" in failure.get("message", "")
    text = failure.text or ""
    assert "[2, 1]: gradient" in text
    assert report.repro in text
    assert failed.get("classname") == "matmul"
    assert failed.get("time") == "0.004"


def test_what_is_right_has_nothing_to_say() -> None:
    assert list(case(parsed([samples.few()[0]]), "x [4, 5]")) == []


def test_inconclusive_is_an_error(tmp_path: Path) -> None:
    report = samples.report("relu", samples.undecided())
    save([report], tmp_path / "report.xml")
    root = Xml.parse(tmp_path / "report.xml").getroot()
    outcome = case(root, "x [6]").find("error")
    assert outcome is not None
    assert outcome.get("type") == "Inconclusive"
    assert "kink: the function has a kink" in outcome.get("message", "")
    suite = root.find("testsuite")
    assert suite is not None
    assert suite.get("errors") == "1"


def test_the_counts_are_those_of_the_cases() -> None:
    root = parsed(samples.few())
    for total, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        assert root.get(total) == str(sum(1 for _ in root.iter(tag)))
        assert root.get(total) == str(sum(int(suite.get(total, "")) for suite in root))


def test_an_audit_is_a_case() -> None:
    root = parsed([samples.failed_audit()])
    failure = case(root, "audit: same bits twice").find("failure")
    assert failure is not None
    assert failure.get("message") == "not-repeatable: 3 of 20 elements differ by 1 ulp"
    assert list(case(root, "audit: shapes")) == []


def test_a_report_of_nothing_is_no_success() -> None:
    root = parsed([samples.report("nothing", audits=())])
    assert (root.get("tests"), root.get("errors")) == ("1", "1")


def test_a_warning_is_output() -> None:
    warned = replace(samples.right(), reasons=(Reason.PRECISION_LOSS,))
    said = case(parsed([samples.report("sum", warned)]), "x [4, 5]").findtext("system-out")
    assert said is not None
    assert "precision-loss" in said


def test_properties_hold_the_seed_and_the_culprit() -> None:
    properties = {
        p.get("name"): p.get("value") for p in parsed([samples.program_report()]).iter("property")
    }
    assert properties["seed"] == "0"
    assert "train.py:41" in (properties["culprit"] or "")
    assert properties["numpy"] == "2.4.6"


def test_foreign_text_stays_text() -> None:
    hostile = samples.HOSTILE
    report = replace(samples.report(hostile, samples.wrong(hostile)), env={hostile: hostile})
    suite = parsed([report]).find("testsuite")
    assert suite is not None
    assert suite.get("name") == hostile.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")
    assert "\x1b" not in junit_text([report])
