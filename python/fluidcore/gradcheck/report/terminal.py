"""Reports on a terminal, in colours."""

from __future__ import annotations

import sys
from typing import TextIO

from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult

_COLOURS = {
    "bold red": r"^FAIL\b|✗|\bFAIL\b(?=,)|^ +culprit|^ +audit failed",
    "bold yellow": r"^INCONCLUSIVE\b|^ +\?|\bINCONCLUSIVE\b(?=,)",
    "bold green": r"^PASS\b|✓|\bPASS\b(?=,)",
    "dim": r"^ +(to repeat|gradient code|seed).*$",
}


def show(report: GradCheckReport | GradCheckResult, file: TextIO | None = None) -> None:
    """Prints a report; in colours if `file` is a terminal and NO_COLOR is not set."""
    file = sys.stdout if file is None else file
    if not file.isatty():
        print(report, file=file)
        return
    import re

    from rich.console import Console
    from rich.text import Text

    text = Text(str(report))
    for style, pattern in _COLOURS.items():
        text.highlight_regex(re.compile(pattern, re.MULTILINE), style)
    Console(file=file, highlight=False).print(text, soft_wrap=True)
