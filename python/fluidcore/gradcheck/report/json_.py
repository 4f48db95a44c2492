"""Reports as JSON, without loss; every other format can be made from it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence

from fluidcore import core
from fluidcore.gradcheck.report.plain import DamagedError, decode, encode
from fluidcore.gradcheck.report.result import GradCheckReport

SCHEMA = "fluidcore.gradcheck/1"


def json_text(reports: Sequence[GradCheckReport]) -> str:
    """A JSON document: "schema", and "reports" with the fields of GradCheckReport and "verdict"."""
    listed = [{"verdict": report.verdict.value, **encode(report)} for report in reports]
    document = {"schema": SCHEMA, "reports": listed}
    return json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def load(path: str | os.PathLike[str]) -> list[GradCheckReport]:
    """The reports that `save` wrote to a .json file.

    Raises:
        core.InvalidArgument: The file is damaged, no report, or of a newer fluidcore.
        OSError: It cannot be read.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        content = file.read()
    try:
        document = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise core.InvalidArgument(
            f"load: {name} must be a whole JSON file, got a damaged one: {error}"
        ) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise core.InvalidArgument(f"load: {name} must have the schema {SCHEMA!r}, {_got(schema)}")
    try:
        reports: list[GradCheckReport] = list(
            decode(tuple[GradCheckReport, ...], document.get("reports"), "reports")
        )
    except DamagedError as error:
        raise core.InvalidArgument(f"load: {name} is damaged: {error}") from None
    return reports


def _got(schema: object) -> str:
    newer = isinstance(schema, str) and re.fullmatch(r"fluidcore\.gradcheck/[0-9]{1,9}", schema)
    if newer and schema != "fluidcore.gradcheck/0":
        return f"got {schema!r}; it is of a newer fluidcore: update this one"
    return f"got {str(schema)[:60]!r}; it is no report of a gradient check"
