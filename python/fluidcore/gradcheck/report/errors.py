"""Errors of the elements of a gradient, and what sums them up."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.target import Doubles

SMALLEST = 1e-8  # what errors are divided by at least
_BLOCK = 2**16  # elements at once: large arrays are not copied


def relative_errors(analytical: Doubles, numerical: Doubles) -> Doubles:
    """|analytical - numerical| / max(|analytical|, |numerical|, 1e-8); inf if one is not finite."""
    errors = absolute_errors(analytical, numerical)
    for begin in range(0, errors.size, _BLOCK):
        part = slice(begin, begin + _BLOCK)
        scale = np.maximum(np.abs(numerical[part]), np.abs(analytical[part]))
        np.maximum(scale, SMALLEST, out=scale)
        np.divide(errors[part], scale, out=errors[part], where=errors[part] < np.inf)
    return errors


def absolute_errors(analytical: Doubles, numerical: Doubles) -> Doubles:
    """|analytical - numerical|; inf if one is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        errors: Doubles = analytical - numerical
    np.abs(errors, out=errors)
    errors[~np.isfinite(errors)] = np.inf
    return errors


def with_statistics(
    result: GradCheckResult, analytical: Doubles, numerical: Doubles
) -> GradCheckResult:
    """The result with the largest, mean and median errors of these elements; 0 of none."""
    return replace(result, **statistics(analytical, numerical)) if analytical.size else result


class Statistics(TypedDict, total=False):
    """What a result says of the errors of its elements."""

    max_relative_error: float
    mean_relative_error: float
    median_relative_error: float
    max_absolute_error: float
    mean_absolute_error: float
    median_absolute_error: float


def statistics(analytical: Doubles, numerical: Doubles) -> Statistics:
    """The largest, mean and median errors of these elements; nothing of none."""
    if analytical.size == 0:
        return {}
    found = core.error_statistics(analytical, numerical, SMALLEST)
    return {
        "max_relative_error": found[0],
        "mean_relative_error": found[1],
        "median_relative_error": found[2],
        "max_absolute_error": found[3],
        "mean_absolute_error": found[4],
        "median_absolute_error": found[5],
    }


def median(values: Doubles) -> float:
    """Of some numbers, no NaN. That of NumPy loads numpy.ma, which takes longer than a check."""
    middle = [(values.size - 1) // 2, values.size // 2]
    values = values.flatten()
    values.partition(middle)
    low, high = values[middle]
    return float((low + high) / 2)
