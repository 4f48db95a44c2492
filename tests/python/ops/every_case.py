"""The cases of all files of this folder."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path

from op_case import OpCase


@functools.cache
def every_case() -> tuple[OpCase, ...]:
    """All rows of the operator table."""
    cases: list[OpCase] = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if "check_outputs" in path.read_text(encoding="utf-8"):
            cases += importlib.import_module(path.stem).CASES
    return tuple(cases)
