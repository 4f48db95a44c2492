"""Where in a file something is, from text like "train.py:41: h = layers.fc(x, 10)"."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from fluidcore.gradcheck.report.values import printable

_SITE = re.compile(r"(?P<file>.+?):(?P<line>[1-9][0-9]{0,8})(?::\s*(?P<text>.*))?", re.DOTALL)


def physical_location(site: str) -> dict[str, Any] | None:
    """A physicalLocation of SARIF; None if `site` names no file and line."""
    match = _SITE.fullmatch(printable(site).strip())
    if match is None or match["file"].startswith("<"):
        return None
    region: dict[str, Any] = {"startLine": int(match["line"])}
    if match["text"]:
        region["snippet"] = {"text": match["text"]}
    return {"artifactLocation": {"uri": _uri(match["file"])}, "region": region}


def _uri(file: str) -> str:
    """Relative to the working folder where the file is below it, as code scanning wants it."""
    path = file.removeprefix(os.getcwd() + os.sep)
    if os.path.isabs(path):
        return Path(path).as_uri()
    return quote(PurePosixPath(path).as_posix())
