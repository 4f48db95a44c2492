"""Gradient operators against differences of a fixed step, by the largest relative error."""

from __future__ import annotations

import math
import time

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.adapters.network_target import NetworkTarget
from fluidcore.gradcheck.report.errors import with_statistics
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult, GradientError
from fluidcore.gradcheck.target.calls import Calls
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles
from fluidcore.gradcheck.verdict import Verdict

_STEP = 2.0**-17  # near the cube root of float64's rounding error
_SMALL_GRADIENT = 1e-3  # below it, an absolute error counts in place of a relative one


def compared(
    target: NetworkTarget, output_name: str, limit: float, delta: float | None, seed: int
) -> GradCheckReport:
    """The report of a comparison that found nothing; raises GradientError otherwise.

    In 16 bits elements are compared with the largest, and 16 units of rounding are allowed.
    """
    is_coarse = numpy_dtype(target.dtype).itemsize == 2
    if is_coarse:
        limit = max(limit, 16 * UNIT[target.dtype])
    calls = Calls(target)
    (output,) = calls.forward(target.dtype)
    weights = np.random.default_rng([seed, 0x9D5C]).standard_normal(output.shape)
    weights += np.copysign(0.3, weights)  # an element of nearly 0 would hide an error
    weights = weights.astype(output.dtype)
    started = time.perf_counter()
    operators = calls.gradient([weights], target.dtype)
    function = target.function(SHADOW)
    results = []
    for k, (part, operator) in enumerate(zip(target.inputs, operators, strict=True)):
        step = _step(part.value) if delta is None else delta
        factors = weights.astype(np.float64).reshape(-1)
        numerical = np.asarray(core.difference(function, k, step, weights=factors))
        refusal = _refusal(numerical, operator, part.value, limit, is_coarse)
        if refusal:
            raise GradientError(
                f"{target.who}: the gradient of '{output_name}' with respect to '{part.name}' "
                f"must be {refusal}"
            )
        result = GradCheckResult(
            part.name,
            tuple(part.value.shape),
            target.dtype,
            target.place,
            "full",
            Verdict.PASS,
            num_elements=operator.size,
            num_passed=operator.size,
            resolution=limit,
            min_detectable_99=limit,
            num_forward=2 * operator.size,
            num_backward=1,
            seconds=time.perf_counter() - started,
        )
        results.append(with_statistics(result, operator, numerical))
    return GradCheckReport(target.who, tuple(results), source=target.source or "", seed=seed)


def _refusal(numerical: Doubles, operator: Array, at: Array, limit: float, by_largest: bool) -> str:
    """What must hold and does not: "" if each |numerical - operator| / |numerical| is in it."""
    scale = np.abs(numerical)
    if by_largest:
        scale = np.maximum(scale, np.max(scale, initial=0.0))
    scale = np.where(scale < _SMALL_GRADIENT, 1.0, scale)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(numerical - operator.astype(np.float64)) / scale
    errors = np.where(np.isfinite(errors), errors, np.inf)
    wrong = int(np.count_nonzero(errors > limit))
    if not wrong:
        return ""
    worst = int(np.argmax(errors))
    index = [int(i) for i in np.unravel_index(worst, at.shape)]
    return (
        f"within {limit:g} of the numerical one, got a relative error of {errors[worst]:.3g} at "
        f"{index} of {at.dtype.name} {list(at.shape)}: numerical {numerical[worst]:.6g}, operator "
        f"{float(operator[worst]):.6g}; {wrong} of {errors.size} elements are wrong"
    )


def _step(values: Array) -> float:
    """A power of two that suits values of this size."""
    size = float(np.sqrt(np.mean(np.square(values.astype(np.float64))))) if values.size else 0.0
    return _STEP * 2.0 ** math.floor(math.log2(size)) if 0 < size < math.inf else _STEP
