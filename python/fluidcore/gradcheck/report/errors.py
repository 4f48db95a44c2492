"""Errors of the elements of a gradient, and what sums them up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.target import Doubles

SMALLEST = 1e-8  # what errors are divided by at least


def relative_errors(analytical: Doubles, numerical: Doubles) -> Doubles:
    """|analytical - numerical| / max(|analytical|, |numerical|, 1e-8); inf if one is not finite."""
    scale = np.maximum(np.abs(analytical), np.abs(numerical))
    np.maximum(scale, SMALLEST, out=scale)
    with np.errstate(invalid="ignore", over="ignore"):
        np.divide(np.abs(analytical - numerical), scale, out=scale)
    scale[~(np.isfinite(analytical) & np.isfinite(numerical))] = np.inf
    return scale


def absolute_errors(analytical: Doubles, numerical: Doubles) -> Doubles:
    """|analytical - numerical|; inf if one is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(analytical - numerical)
    errors[~np.isfinite(errors)] = np.inf
    return errors


def with_statistics(
    result: GradCheckResult, analytical: Doubles, numerical: Doubles
) -> GradCheckResult:
    """The result with the largest, mean and median errors of these elements; 0 of none."""
    if analytical.size == 0:
        return result
    relative = relative_errors(analytical, numerical)
    absolute = absolute_errors(analytical, numerical)
    return replace(
        result,
        max_relative_error=float(np.max(relative)),
        mean_relative_error=float(np.mean(relative)),
        median_relative_error=median(relative),
        max_absolute_error=float(np.max(absolute)),
        mean_absolute_error=float(np.mean(absolute)),
        median_absolute_error=median(absolute),
    )


def median(values: Doubles) -> float:
    """Of some numbers, no NaN. That of NumPy loads numpy.ma, which takes longer than a check."""
    middle = [(values.size - 1) // 2, values.size // 2]
    low, high = np.partition(values, middle, axis=None)[middle]
    return float((low + high) / 2)
