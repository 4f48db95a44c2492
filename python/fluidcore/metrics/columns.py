"""What batches must be: columns of numbers, of classes, of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidcore import core


def as_numbers(what: str, values: object) -> NDArray[Any]:
    """An array of numbers or bools; TypeError for anything else."""
    array = np.asarray(values)
    if array.dtype.kind not in "buif":
        array = _of_odd_dtype(what, array)
    return array


def _of_odd_dtype(what: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "V" or array.dtype.name in ("bfloat16", "float16"):
        try:
            return array.astype(np.float32)  # bfloat16 is a kind of its own
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{what} must be an array of numbers, got {array.dtype} {list(array.shape)}")


def as_column(what: str, values: object) -> NDArray[Any]:
    """The numbers of [n] or [n, 1] as [n].

    Raises:
        TypeError: They are no numbers.
        core.InvalidArgument: The shape is another one.
    """
    array = as_numbers(what, values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise core.InvalidArgument(f"{what} must be [n] or [n, 1], got {list(array.shape)}")
    return array


def as_classes(what: str, values: object, num_classes: int) -> NDArray[np.int64]:
    """Whole numbers in [0, num_classes), of [n] or [n, 1], as [n].

    Raises:
        TypeError: They are no numbers.
        core.InvalidArgument: The shape is another one, or a number is out of range.
    """
    column = as_column(what, values)
    wrong = ~((column >= 0) & (column < num_classes) & (column == np.floor(column)))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise core.InvalidArgument(
            f"{what} must be whole numbers in [0, {num_classes}), got {column[place]} at {place}"
        )
    return column.astype(np.int64)


def as_probabilities(what: str, values: object) -> NDArray[Any]:
    """Numbers in [0, 1], of [n] or [n, 1], as [n].

    Raises:
        TypeError: They are no numbers.
        core.InvalidArgument: The shape is another one, or a number is out of range.
    """
    column = as_column(what, values)
    wrong = ~((column >= 0) & (column <= 1))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise core.InvalidArgument(
            f"{what} must be probabilities in [0, 1], got {column[place]} at {place}"
        )
    return column


def check_as_many(what: str, preds: NDArray[Any], labels: NDArray[Any]) -> None:
    """Raises core.InvalidArgument unless there is a label for each prediction."""
    if len(preds) != len(labels):
        raise core.InvalidArgument(
            f"{what}: there must be a label for each prediction, got {len(preds)} predictions, "
            f"{len(labels)} labels"
        )
