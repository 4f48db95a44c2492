"""Reports as JSON, without loss; every other format can be made from it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fluidcore.gradcheck.report.data import ReportData
from fluidcore.gradcheck.report.plain_data import encode

SCHEMA = "fluidcore.gradcheck/1"


def json_text(reports: Sequence[ReportData]) -> str:
    """A JSON document: "schema", and "reports" with the fields of GradCheckReport and "verdict"."""
    listed = [{"verdict": report.verdict.value, **encode(report)} for report in reports]
    document = {"schema": SCHEMA, "reports": listed}
    return json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
