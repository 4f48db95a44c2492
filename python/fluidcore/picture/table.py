"""Columns of text, and numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence

_WIDEST = 36  # columns of a cell


def table_text(rows: Sequence[Sequence[str]], numbers: int) -> str:
    """Rows in columns; the last ones, as many as `numbers`, hold numbers and end at one place."""
    cut = [[_cut(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    words = len(widths) - numbers
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cut
    )


def bytes_text(count: int) -> str:
    """A number of bytes, as "1.2 kB"; 1000 bytes are a kB."""
    return f"{amount(count)}B"


def amount(count: int) -> str:
    """Three digits and a prefix: "1.23 M", to be followed by a unit."""
    value, prefixes = float(count), ["", "k", "M", "G", "T", "P", "E"]
    while value >= 999.5 and len(prefixes) > 1:
        value /= 1000
        del prefixes[0]
    return f"{value:.3g} {prefixes[0]}"


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST // 2 - 1]}…{text[-_WIDEST // 2 :]}"
