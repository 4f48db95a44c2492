"""Which lines of some modules are run, by which test."""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any


class Lines:
    """Remembers the lines that functions of some files run, while it is switched on.

    Args:
        modules: Path of a file -> name of its module.
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._seen: dict[str, set[int]] = defaultdict(set)

    def taken(self) -> dict[str, list[int]]:
        """The lines by module since the last call."""
        seen, self._seen = self._seen, defaultdict(set)
        return {module: sorted(lines) for module, lines in seen.items()}

    def __enter__(self) -> None:
        sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any] | None:
        module = self._modules.get(frame.f_code.co_filename)
        if module is None or frame.f_code.co_name == "<module>":
            return None
        add = self._seen[module].add
        add(frame.f_lineno)

        def line(frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any]:
            add(frame.f_lineno)
            return line

        return line
