"""Prints what layers.Print says, after a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluidcore.program.prints import Print, Printed


def show(printed: Sequence[Printed], values: Sequence[Any]) -> None:
    """Prints values to the standard output.

    Args:
        printed: What is printed.
        values: Its values, as arrays or what converts.
    """
    for each, value in zip(printed, values, strict=True):
        print(_text(each.by, each.name, np.asarray(value)))
    for by in {id(each.by): each.by for each in printed}.values():
        by.shown += 1


def _text(by: Print, name: str, array: np.ndarray[Any, Any]) -> str:
    words = [name] if by.with_name else []
    words += [array.dtype.name] if by.with_type else []
    words += [str(list(array.shape))] if by.with_shape else []
    lines = [line for line in (by.title, " ".join(words)) if line]
    return "\n".join([*lines, _elements(array, by.summarize)])


def _elements(array: np.ndarray[Any, Any], most: int) -> str:
    if most < 0 or most >= array.size:
        return str(array)
    return " ".join([*map(str, array.ravel()[:most]), "..."])
