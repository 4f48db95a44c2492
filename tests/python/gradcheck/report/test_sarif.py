import json
import os
from dataclasses import replace
from typing import Any

import pytest
import samples

from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.report.sarif import physical_location, sarif_text
from fluidcore.gradcheck.verdict import Reason


def run(*reports: GradCheckReport) -> Any:
    log = json.loads(sarif_text(reports))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    assert len(log["runs"]) == 1
    return log["runs"][0]


def results(*reports: GradCheckReport) -> list[Any]:
    return list(run(*reports)["results"])


def test_there_is_a_rule_for_each_reason() -> None:
    driver = run()["tool"]["driver"]
    assert driver["name"] == "fluidcore gradcheck"
    assert [rule["id"] for rule in driver["rules"]] == [reason.value for reason in Reason]
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"].endswith(".")
        assert rule["help"]["text"].endswith(".")


def test_kind_and_level_follow_the_verdict() -> None:
    found = results(*samples.few())
    assert {(result["kind"], result["level"]) for result in found} == {
        ("fail", "error"),
        ("fail", "warning"),
        ("pass", "none"),
        ("open", "none"),
    }
    for result in found:
        assert result["level"] == "none" or result["kind"] == "fail"


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (samples.report("matmul", samples.right()), [("grad-mismatch", "pass")]),
        (samples.report("matmul", samples.wrong()), [("grad-mismatch", "fail")]),
        (samples.report("relu", samples.undecided()), [("kink", "open")]),
        (samples.few()[8], [("precision-loss", "fail")]),
        (samples.failed_audit(), [("grad-mismatch", "pass"), ("not-repeatable", "fail")]),
    ],
)
def test_the_rule_is_the_reason(report: GradCheckReport, expected: list[Any]) -> None:
    found = results(report)
    assert [(result["ruleId"], result["kind"]) for result in found] == expected
    rules = run()["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in found)


def test_a_result_is_where_the_gradient_code_is() -> None:
    location = results(samples.few()[0])[0]["locations"][0]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "csrc/fluidcore/ops/matmul.cc"}
    assert physical["region"] == {"startLine": 41}
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "matmul/x/float64/cpu"


def test_the_culprit_is_where_the_user_wrote_it() -> None:
    culprit = results(samples.program_report())[-1]
    assert culprit["message"]["text"].startswith("program: matmul_grad (operator 17 of block 0")
    physical = culprit["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "train.py"}
    assert physical["region"]["startLine"] == 41
    assert physical["region"]["snippet"] == {"text": "hidden = layers.fc(image, 10)"}


def test_an_unknown_place_is_left_out() -> None:
    report = replace(samples.few()[0], source="")
    assert "physicalLocation" not in results(report)[0]["locations"][0]


@pytest.mark.parametrize(
    ("site", "uri", "line"),
    [
        ("a b/ä.py:3", "a%20b/%C3%A4.py", 3),
        (os.path.join(os.getcwd(), "x.py") + ":12: y = 1", "x.py", 12),
        ("/usr/lib/x.py:7", "file:///usr/lib/x.py", 7),
        ("odd:name.py:5: a[1:2]", "odd%3Aname.py", 5),
    ],
)
def test_a_place_is_a_uri_and_a_line(site: str, uri: str, line: int) -> None:
    found = physical_location(site)
    assert found is not None
    assert found["artifactLocation"]["uri"] == uri
    assert found["region"]["startLine"] == line


@pytest.mark.parametrize("site", ["", "matmul", "x.py:", "x.py:0", "<stdin>:1", ":4"])
def test_text_without_a_file_and_a_line_is_no_place(site: str) -> None:
    assert physical_location(site) is None


def test_fingerprints_tell_results_apart_and_stay_the_same() -> None:
    reports = [*samples.few()[:9], samples.report("other", samples.right())]
    first, again = results(*reports), results(*reports)
    prints = [tuple(result["partialFingerprints"].values()) for result in first]
    assert len(set(prints)) == len(prints)
    assert first == again
    moved = [replace(report, source="elsewhere.cc:9", seed=5) for report in reports]
    assert [tuple(r["partialFingerprints"].values()) for r in results(*moved)] == prints


def test_the_message_says_what_a_person_needs() -> None:
    text = results(samples.few()[0])[1]["message"]["text"]
    assert text.startswith("matmul: FAIL  y [5, 3] float64 cpu, full")
    assert "[2, 1]: gradient" in text
    assert results(samples.few()[0])[1]["properties"]["repro"].startswith("from fluidcore import")
