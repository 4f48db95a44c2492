"""The plain comparison: a fixed step, a relative and an absolute tolerance."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.gradcheck.config import PLAIN, GradCheckConfig
from fluidcore.gradcheck.report.data import ElementError
from fluidcore.gradcheck.report.errors import absolute_errors, relative_errors, with_statistics
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.calls import Calls, cast, flat
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import Array, Doubles, Target
from fluidcore.gradcheck.verdict import Reason, Verdict


def tolerances(config: GradCheckConfig) -> tuple[float, float, float]:
    """Step, relative and absolute tolerance; what is not given is that of GradCheckConfig.plain."""
    given = (config.epsilon, config.relative_tolerance, config.absolute_tolerance)
    epsilon, relative, absolute = (
        usual if value is None else value for value, usual in zip(given, PLAIN, strict=True)
    )
    return epsilon, relative, absolute


def compare(
    name: str,
    analytical: Array,
    numerical: Doubles,
    config: GradCheckConfig,
    elements: NDArray[np.int64] | None = None,
) -> GradCheckResult:
    """The verdict by the tolerances of a configuration.

    An element passes if its relative or its absolute error is within its tolerance.

    Args:
        name: Of the input.
        analytical: The gradient to judge, of the shape of the input.
        numerical: The reference: for all elements, or for `elements`.
        config: Has the tolerances.
        elements: Which elements are compared; None for all.
    """
    every = np.arange(analytical.size) if elements is None else elements
    claimed = analytical.astype(np.float64).reshape(-1)[every]
    reference = numerical.reshape(-1)
    relative = relative_errors(claimed, reference)
    absolute = absolute_errors(claimed, reference)
    _, relative_tolerance, absolute_tolerance = tolerances(config)
    right = (relative <= relative_tolerance) | (absolute <= absolute_tolerance)
    wrong = np.flatnonzero(~right)
    worst_first = wrong[np.argsort(-relative[wrong], kind="stable")]
    shown = np.arange(every.size) if config.verbose else worst_first
    errors = tuple(
        ElementError(
            int(every[i]),
            float(claimed[i]),
            float(reference[i]),
            0.0,
            Verdict.PASS if right[i] else Verdict.FAIL,
        )
        for i in shown
    )
    verdict, reasons, detail = _verdict(every.size, worst_first, errors, config)
    result = GradCheckResult(
        name,
        tuple(analytical.shape),
        analytical.dtype.name,
        "cpu",
        "full",
        verdict,
        reasons,
        num_elements=every.size,
        num_passed=every.size - wrong.size,
        element_errors=errors or None,
        resolution=relative_tolerance,
        min_detectable_99=relative_tolerance,
        detail=detail,
    )
    return with_statistics(result, claimed, reference)


def _verdict(
    size: int,
    wrong: NDArray[np.int64],
    errors: Sequence[ElementError],
    config: GradCheckConfig,
) -> tuple[Verdict, tuple[Reason, ...], str]:
    if wrong.size == 0:
        return Verdict.PASS, (), ""
    worst = errors[wrong[0]] if config.verbose else errors[0]
    _, relative, absolute = tolerances(config)
    detail = (
        f"{wrong.size} of {size} elements are within neither tolerance, {relative:g} relative and "
        f"{absolute:g} absolute; at [{worst.index}]: analytical {worst.analytical:.9g}, numerical "
        f"{worst.numerical:.9g}"
    )
    return Verdict.FAIL, (Reason.TOLERANCE,), detail


def plain_results(target: Target, config: GradCheckConfig) -> tuple[GradCheckResult, ...]:
    """Compares the gradient of every input with differences of a fixed step.

    The numerical gradient is taken in float64 where the target has such a form: in 16 bits a step
    of 1e-4 is lost in rounding. What is differentiated is a random weighting of the outputs.
    """
    calls = Calls(target)
    dtype = target.judged_in(config.shadow)
    outputs = calls.forward(dtype)
    weights = [cast(v, target.dtype) for v in _cotangent(target, outputs, config)]
    started = time.perf_counter()
    found = calls.gradient(weights, target.dtype)
    function = target.function(dtype)
    epsilon, _, _ = tolerances(config)
    results = []
    for k, (part, gradient) in enumerate(zip(target.inputs, found, strict=True)):
        elements = _elements(config, part.name, part.value.size)
        numerical = core.difference(
            function,
            k,
            epsilon,
            weights=flat(weights),
            forward=not config.use_central_difference,
            elements=elements,
            workers=config.workers or len(os.sched_getaffinity(0)),
        )
        claimed = gradient.reshape(part.value.shape)
        result = compare(part.name, claimed, numerical, config, elements)
        result = replace(
            result,
            dtype=target.dtype,
            place=target.place,
            num_forward=numerical.size * 2,
            num_backward=1,
            seconds=time.perf_counter() - started,
        )
        fault = calls.faults.get((k, target.dtype))
        if fault is not None:
            result = replace(result, reasons=(fault.reason,), detail=fault.detail)
        results.append(result)
    return tuple(results)


def _cotangent(target: Target, outputs: Sequence[Array], config: GradCheckConfig) -> list[Doubles]:
    """Ones for one number, else random weights that hide nothing."""
    if target.fixed_cotangent or sum(y.size for y in outputs) == 1:
        return [np.ones(y.shape) for y in outputs]
    weights = []
    for k, y in enumerate(outputs):
        v = stream(config.seed, f"output {k}", "cotangent 0").standard_normal(y.shape)
        weights.append(v + np.copysign(0.3, v))  # an element of nearly 0 would hide an error
    return weights


def _elements(config: GradCheckConfig, name: str, size: int) -> NDArray[np.int64] | None:
    if config.subset is None or config.subset >= size:
        return None
    chosen = stream(config.seed, name, "subset").choice(size, config.subset, replace=False)
    return np.sort(chosen).astype(np.int64)
