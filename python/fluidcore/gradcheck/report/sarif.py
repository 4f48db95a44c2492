"""Reports as SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from fluidcore import core
from fluidcore.gradcheck.report.blocks import culprit_text, headline
from fluidcore.gradcheck.report.data import ReportData
from fluidcore.gradcheck.report.parts import part_of
from fluidcore.gradcheck.report.phrases import PHRASES
from fluidcore.gradcheck.report.text import result_text
from fluidcore.gradcheck.report.values import one_line, printable, sight
from fluidcore.gradcheck.verdict import Reason, Verdict

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_FINGERPRINT = "fluidcoreGradcheck/v1"
_SITE = re.compile(r"(?P<file>.+?):(?P<line>[1-9][0-9]{0,8})(?::\s*(?P<text>.*))?", re.DOTALL)
_KINDS = {Verdict.PASS: "pass", Verdict.FAIL: "fail", Verdict.INCONCLUSIVE: "open"}

Json = dict[str, Any]


def sarif_text(reports: Sequence[ReportData]) -> str:
    """A SARIF log: a rule for each reason, and a result for each gradient and reason.

    What is wrong has the kind "fail", what is right "pass", what is undecided "open"; a loss of
    precision is a warning.
    """
    run = {
        "tool": {
            "driver": {
                "name": "fluidcore gradcheck",
                "semanticVersion": core.version(),
                "rules": [_rule(reason) for reason in Reason],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [result for report in reports for result in _results(report)],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, allow_nan=False) + "\n"


def _rule(reason: Reason) -> Json:
    phrase = PHRASES[reason]
    return {
        "id": reason.value,
        "shortDescription": {"text": f"{phrase.meaning[0].upper()}{phrase.meaning[1:]}."},
        "help": {"text": f"{phrase.cure[0].upper()}{phrase.cure[1:]}."},
        "defaultConfiguration": {
            "level": "warning" if reason is Reason.PRECISION_LOSS else "error"
        },
    }


def _results(report: ReportData) -> list[Json]:
    found = []
    key: tuple[str, ...]
    for result in report.results:
        part = part_of(result, report.results)
        message = f"{one_line(report.who)}: {result_text(result, part)}"
        if result:
            message = f"{one_line(report.who)}: {headline(result, part)}: right; {sight(result)}"
        for reason in result.reasons or (Reason.MISMATCH,):
            key = (result.name, result.dtype, result.place)
            where = physical_location(report.source)
            found.append(_result(report, result.verdict, reason, key, message, where))
    for audit in report.audits:
        message = f"{report.who}: audit {audit.name}: {audit.verdict.value}; {audit.detail}"
        reason = audit.reason or Reason.MISMATCH
        if audit.verdict is not Verdict.PASS:
            where = physical_location(report.source)
            key = ("audit", audit.name)
            found.append(_result(report, audit.verdict, reason, key, message, where))
    if culprit := report.culprit:
        message = f"{report.who}: {culprit_text(culprit)}"
        key = ("culprit", culprit.op_type, culprit.slot, culprit.variable)
        where = physical_location(culprit.call_site) or physical_location(report.source)
        found.append(_result(report, Verdict.FAIL, culprit.reason, key, message, where))
    return found


def _result(
    report: ReportData,
    verdict: Verdict,
    reason: Reason,
    key: tuple[str, ...],
    message: str,
    where: Json | None,
) -> Json:
    """One result; `key` tells it from others of this report with the same reason."""
    kind, level = _KINDS[verdict], "error" if verdict is Verdict.FAIL else "none"
    if verdict is Verdict.PASS and reason is Reason.PRECISION_LOSS:
        kind, level = "fail", "warning"
    who = one_line(report.who)
    name = f"{who}/{one_line('/'.join(key))}"
    location: Json = {"logicalLocations": [{"fullyQualifiedName": name, "kind": "function"}]}
    if where is not None:
        location["physicalLocation"] = where
    identity = json.dumps([report.who, reason.value, *key])
    return {
        "ruleId": reason.value,
        "ruleIndex": list(Reason).index(reason),
        "kind": kind,
        "level": level,
        "message": {"text": printable(message)},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: hashlib.sha256(identity.encode()).hexdigest()[:32]},
        "properties": {
            "repro": printable(report.repro),
            "seed": report.seed,
            "notes": [printable(note) for note in report.notes],
        },
    }


def physical_location(site: str) -> Json | None:
    """Of text like "train.py:41: h = layers.fc(x, 10)"; None if it names no file and line."""
    match = _SITE.fullmatch(printable(site).strip())
    if match is None or match["file"].startswith("<"):
        return None
    region: Json = {"startLine": int(match["line"])}
    if match["text"]:
        region["snippet"] = {"text": match["text"]}
    return {"artifactLocation": {"uri": _uri(match["file"])}, "region": region}


def _uri(file: str) -> str:
    """Relative to the working folder where the file is below it, as code scanning wants it."""
    path = file.removeprefix(os.getcwd() + os.sep)
    if os.path.isabs(path):
        return Path(path).as_uri()
    return quote(PurePosixPath(path).as_posix())
