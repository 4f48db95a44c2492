"""Gradient operators against differences of a fixed step, by the largest relative error."""

from __future__ import annotations

import math
import time

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.adapters.network_target import NetworkTarget
from fluidcore.gradcheck.fixed_step.worst_element import worst_element
from fluidcore.gradcheck.report.errors import with_statistics
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult, GradientError
from fluidcore.gradcheck.target.calls import Calls
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles, Input
from fluidcore.gradcheck.verdict import Verdict

_ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
_STEP = 2.0**-17  # near the cube root of float64's rounding error


def compared(
    target: NetworkTarget, output_name: str, limit: float, delta: float | None, seed: int
) -> GradCheckReport:
    """The report of a comparison that found nothing; raises GradientError otherwise."""
    calls = Calls(target)
    (output,) = calls.forward(target.dtype)
    weights = np.random.default_rng([seed, 0x9D5C]).standard_normal(output.shape)
    weights += np.copysign(0.3, weights)  # an element of nearly 0 would hide an error
    weights = weights.astype(output.dtype)
    started = time.perf_counter()
    operators = calls.gradient([weights], target.dtype)
    function = target.function(SHADOW)
    results = []
    for k, (part, flat) in enumerate(zip(target.inputs, operators, strict=True)):
        step = _step(part.value) if delta is None else delta
        factors = weights.astype(np.float64).reshape(-1)
        numerical = np.asarray(core.difference(function, k, step, weights=factors))
        shape = part.value.shape
        _compare(target, output_name, part, numerical.reshape(shape), flat.reshape(shape), limit)
        result = GradCheckResult(
            part.name,
            tuple(shape),
            target.dtype,
            target.place,
            "full",
            Verdict.PASS,
            num_elements=flat.size,
            num_passed=flat.size,
            resolution=limit,
            min_detectable_99=limit,
            num_forward=2 * flat.size,
            num_backward=1,
            seconds=time.perf_counter() - started,
        )
        results.append(with_statistics(result, flat, numerical))
    return GradCheckReport(target.who, tuple(results), source=target.source or "", seed=seed)


def _compare(
    target: NetworkTarget,
    output_name: str,
    part: Input,
    numerical: Doubles,
    operator: Doubles,
    limit: float,
) -> None:
    rounding = _ROUNDING.get(target.dtype, 0.0)
    limit = max(limit, 16 * rounding)
    floor = float(np.max(np.abs(numerical), initial=0.0)) if rounding else 0.0
    worst = worst_element(numerical, operator, limit, floor=floor)
    if worst is None or worst.relative_error <= limit:
        return
    raise GradientError(
        f"{target.who}: the gradient of '{output_name}' with respect to '{part.name}' must be "
        f"within {limit:g} of the numerical one, got a relative error of "
        f"{worst.relative_error:.3g} at {list(worst.index)} of {target.dtype} "
        f"{list(part.value.shape)}: numerical {worst.numerical:.6g}, operator "
        f"{worst.operator:.6g}; {worst.wrong} of {worst.total} elements are wrong"
    )


def _step(values: Array) -> float:
    """A power of two that suits values of this size."""
    size = float(np.sqrt(np.mean(np.square(values.astype(np.float64))))) if values.size else 0.0
    return _STEP * 2.0 ** math.floor(math.log2(size)) if 0 < size < math.inf else _STEP
