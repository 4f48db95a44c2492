"""Evenly spaced numbers."""

from __future__ import annotations

from fluidcore.base.checks import check_number, is_whole
from fluidcore.base.dtypes import DTypeLike
from fluidcore.layers.helper import LayerHelper
from fluidcore.program import Variable


def arange(
    start: float,
    end: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Variable:
    """Evenly spaced numbers: start, start + step, ... before end.

    Args:
        start: The first number; without `end` that, and the first is 0.
        end: Where the numbers end, without it.
        step: From one number to the next, not 0.
        dtype: Element type; None for int64 if all of them are whole by type, else float32.
        name: Name of the layer; None makes one up.

    Returns:
        [count].

    Example:
        positions = layers.arange(0, 10, 2)  # 0, 2, 4, 6, 8
    """
    first, last = (0, start) if end is None else (start, end)
    given = {"start": first, "end": last, "step": step}
    numbers = {key: check_number(f"arange: {key}", value) for key, value in given.items()}
    if dtype is None:
        dtype = "int64" if all(is_whole(value) for value in given.values()) else "float32"
    return LayerHelper("arange", name).append("arange", {}, {**numbers, "dtype": dtype})
