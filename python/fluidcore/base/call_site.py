"""Where in the user's program something was written."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_shown: dict[str, str] = {}  # file of a frame -> how it is shown; "" for our own files


def _show(filename: str) -> str:
    if filename.startswith(_PACKAGE) or filename == contextlib.__file__:
        return ""  # the second runs the end of our `with` blocks
    return filename.removeprefix(os.getcwd() + os.sep)


def warn(message: str) -> None:
    """A UserWarning at the nearest caller outside this package."""
    frame, level = sys._getframe(1), 2
    while not _show(frame.f_code.co_filename) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def call_site() -> str:
    """The nearest caller outside this package as "train.py:41"; empty if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        shown = _shown.get(filename)
        if shown is None:
            shown = _shown[filename] = _show(filename)
        if shown:
            return f"{shown}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def end_of(function: object) -> str:
    """The last line of a function as "train.py:41"; empty for what is not of Python."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    last = max(line for _, _, line in code.co_lines() if line is not None)
    filename = code.co_filename
    return f"{_shown.setdefault(filename, _show(filename)) or filename}:{last}"


def _source_line(site: str) -> str:
    import linecache

    shown, _, number = site.rpartition(":")
    filename = next((name for name, text in _shown.items() if text == shown), shown)
    return linecache.getline(filename, int(number)).strip() if number.isdigit() else ""


def explain(error: BaseException, site: str = "") -> None:
    """Completes the note of an error with the user's line of source.

    Args:
        error: Gets, or has already, a note that ends in "added at train.py:41".
        site: Where the operator was added, for an error that has no such note yet.
    """
    notes: list[str] = list(getattr(error, "__notes__", []))
    if site and not any("added at " in note for note in notes):
        notes.append(f"added at {site}")
    for i, note in enumerate(notes):
        before, found, place = note.partition("added at ")
        line = _source_line(place) if found else ""
        if line:
            notes[i] = f"{before}added at {place}: {line}"
    if notes:
        error.__notes__ = notes
