"""Reports as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from fluidcore import core
from fluidcore.gradcheck.report.data import ReportData
from fluidcore.gradcheck.report.html import html_text
from fluidcore.gradcheck.report.json_ import json_text
from fluidcore.gradcheck.report.junit import junit_text
from fluidcore.gradcheck.report.sarif import sarif_text
from fluidcore.gradcheck.report.text import reports_text
from fluidcore.io.array_file import write_file

_FORMATS: Mapping[str, Callable[[Sequence[ReportData]], str]] = {
    ".html": html_text,
    ".json": json_text,
    ".sarif": sarif_text,
    ".txt": reports_text,
    ".xml": junit_text,
}


def format_of(name: str) -> str:
    """The end of a file's name that says its format; core.InvalidArgument if it says none."""
    end = os.path.splitext(name)[1].lower()
    if end not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise core.InvalidArgument(f"save: the path must end in one of {known}, got '{name}'")
    return end


def save(reports: Sequence[ReportData], path: str | os.PathLike[str]) -> None:
    """Writes reports to one file, whose format follows from the end of its name.

    A crash leaves the file that was there, or the new one.

    Args:
        reports: In the order in which they are to appear.
        path: Ends in .html, .json, .sarif, .txt or .xml (JUnit).

    Raises:
        core.InvalidArgument: The name ends in something else.
        OSError: The file cannot be written; what was there before is unchanged.
    """
    name = os.fspath(path)
    write_file(name, _FORMATS[format_of(name)](reports).encode())
