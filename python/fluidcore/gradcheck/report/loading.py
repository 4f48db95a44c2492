"""Reports read from a JSON file."""

from __future__ import annotations

import json
import os
import re

from fluidcore import core
from fluidcore.gradcheck.report.json_ import SCHEMA
from fluidcore.gradcheck.report.plain_data import DamagedError, decode
from fluidcore.gradcheck.report.result import GradCheckReport


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
