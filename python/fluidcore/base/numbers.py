"""What users give as numbers: Python's, lists of them, arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING

Array = np.ndarray[Any, Any]


def is_plain(value: Any) -> bool:
    """Whether a value is of Python's numbers, which have no element type of their own."""
    return isinstance(value, (bool, int, float, list, tuple, range)) and not isinstance(
        value, np.generic
    )


def as_numbers(what: str, where: str, value: Any) -> Array:
    """The value as an array.

    Args:
        what: Which value it is, for errors.
        where: Where it is: "sample 3".
        value: A number, nested lists of equal lengths, or an array.

    Raises:
        core.InvalidArgument: It is something else, or has a mask.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise core.InvalidArgument(
            f"{what} must be numbers in extents that are all equal, got {type(value).__name__} in "
            f"{where}: {error}"
        ) from None
    is_masked = isinstance(value, np.ma.MaskedArray)
    if is_masked or (array.dtype.kind not in "biuf" and array.dtype.name not in FLOATING):
        text = repr(value)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        got = "a masked array" if is_masked else f"{type(value).__name__} {text}"
        raise core.InvalidArgument(f"{what} must be numbers, got {got} in {where}")
    return array
