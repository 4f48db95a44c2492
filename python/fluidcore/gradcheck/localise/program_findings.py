"""What a report of a program says beside the gradients: clips, what was left out, the culprit."""

from __future__ import annotations

from dataclasses import replace

from fluidcore.gradcheck.adapters.program import ProgramTarget
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.target.target import Target
from fluidcore.gradcheck.verdict import Verdict


def localised(report: GradCheckReport, target: Target, config: GradCheckConfig) -> GradCheckReport:
    """The report with the culprit, if there is something wrong and the target is a program."""
    if not isinstance(target, ProgramTarget):
        return report
    has_wrong_operator = report.verdict is Verdict.FAIL
    audits = target.own_audits()
    said = (audit.detail for audit in audits if audit.verdict and audit.detail)
    notes = (*report.notes, *target.own_notes(), *said)
    report = replace(report, audits=(*report.audits, *audits), notes=notes)
    if not has_wrong_operator or not config.localise:
        return report
    from fluidcore.gradcheck.localise.culprit import find_culprit

    return replace(report, culprit=find_culprit(target, config))
