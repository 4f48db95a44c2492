"""How far two gradients are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fluidcore.gradcheck.target.target import Doubles

SMALL_GRADIENT = 1e-3  # below it, an absolute error counts in place of a relative one


@dataclass(frozen=True)
class WorstElement:
    """The element where two gradients differ most."""

    index: tuple[int, ...]
    numerical: float
    operator: float
    relative_error: float
    wrong: int  # how many elements exceed the limit
    total: int


def relative_errors(numerical: Doubles, operator: Doubles, floor: float = 0.0) -> Doubles:
    """|numerical - operator| / |numerical|, undivided where |numerical| < 1e-3, element by element.

    Infinite where one of the two is not finite, even if both are the same. Errors are divided by
    no less than `floor`.
    """
    scale = np.maximum(np.abs(numerical), floor)
    scale = np.where(scale < SMALL_GRADIENT, 1.0, scale)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(numerical - operator) / scale
    return np.where(np.isfinite(errors), errors, np.inf)


def worst_element(
    numerical: Any, operator: Any, limit: float = 0.005, *, floor: float = 0.0
) -> WorstElement | None:
    """The element with the largest relative error; None if there are no elements.

    Args:
        numerical: The reference, any shape.
        operator: The gradient to judge, the same shape.
        limit: The largest relative error that is right.
        floor: Smaller elements are compared with this; 0: with themselves.
    """
    numerical = np.asarray(numerical, dtype=np.float64)
    operator = np.asarray(operator, dtype=np.float64)
    if numerical.shape != operator.shape:
        raise ValueError(
            f"gradients must have the same shape, got numerical {list(numerical.shape)}, "
            f"operator {list(operator.shape)}"
        )
    if numerical.size == 0:
        return None
    errors = relative_errors(numerical, operator, floor)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(errors)), errors.shape))
    return WorstElement(
        index,
        float(numerical[index]),
        float(operator[index]),
        float(errors[index]),
        int(np.count_nonzero(errors > limit)),
        errors.size,
    )
