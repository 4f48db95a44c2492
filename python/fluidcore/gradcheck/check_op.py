"""check_grad: gradient operators against numerical differentiation."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name, check_number
from fluidcore.gradcheck.adapters.network_target import NetworkTarget
from fluidcore.gradcheck.calls import Calls
from fluidcore.gradcheck.compare import worst_element
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.network import Array, Network
from fluidcore.gradcheck.numerical import checked_output
from fluidcore.gradcheck.plain import with_statistics
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult, GradientError
from fluidcore.gradcheck.source import Source
from fluidcore.gradcheck.target import SHADOW, Doubles, Input
from fluidcore.gradcheck.verdict import Verdict

_MAX_RELATIVE_ERROR = 0.005
_ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
_STEP = 2.0**-17  # near the cube root of float64's rounding error


def check_grad(
    forward_op: Source,
    input_vars: Mapping[str, Any],
    inputs_to_check: Sequence[str],
    output_name: str,
    no_grad_set: Iterable[str] | None = None,
    only_cpu: bool = False,
    max_relative_error: float | None = None,
    *,
    config: GradCheckConfig | None = None,
    delta: float | None = None,
    seed: int = 0,
    local_scope: core.Scope | None = None,
) -> GradCheckReport:
    """Checks that gradient operators calculate what numerical differentiation finds.

    Without `max_relative_error` and `delta`, error bars decide: the formula is checked in float64,
    and the gradient operators in the dtype of the values against it.

    With one of them, the largest error of an element decides: |numerical - operator| divided by
    |numerical|, or undivided where that is below 1e-3. What is differentiated is a random weighting
    of the output, so that errors cannot cancel in a sum, and the numerical gradient is taken in
    float64, at the same values, so that rounding raises no false alarm.

    Args:
        forward_op: An Operator, or a network: a Program, a Block, or the description of one.
        input_vars: Variable name -> value.
        inputs_to_check: The inputs whose gradients are checked.
        output_name: The final output.
        no_grad_set: Variables that are constants for the gradient operators.
        only_cpu: Whether only the CPU kernels are checked; other devices are checked where the
            build has them.
        max_relative_error: The largest relative error that is right; 0.005 if only `delta` is
            given. In 16-bit dtypes 16 units of rounding are right, relative to the largest element
            of the gradient.
        config: Other settings of a check by error bars.
        delta: The step of the numerical gradient; None for one that suits the size of the values.
        seed: Of everything random.
        local_scope: Where the values of variables are that `input_vars` does not hold.

    Returns:
        What was found.

    Raises:
        GradientError: A gradient is wrong, or, by error bars, cannot be judged; the message names
            the worst element.
        core.InvalidArgument: An input has no gradient, or the arguments do not fit.
        core.NotFound: A name is unknown.
    """
    del only_cpu  # the CPU kernels are all there are
    wanted = _names("inputs_to_check", inputs_to_check)
    constants = set(_names("no_grad_set", no_grad_set or ()))
    if not (config is None or isinstance(config, GradCheckConfig)):
        raise TypeError(
            f"check_grad: config must be a GradCheckConfig, got {type(config).__name__}"
        )
    if not wanted:
        raise core.InvalidArgument("check_grad: there must be an input to check, got none")
    limits = (max_relative_error, delta)
    if config is not None and limits != (None, None):
        raise core.InvalidArgument(
            "check_grad: there must be a config, or max_relative_error and delta, got both"
        )
    for name, value in (("max_relative_error", max_relative_error), ("delta", delta)):
        if value is not None and not check_number(name, value) > 0:
            raise core.InvalidArgument(f"check_grad: {name} must be positive, got {value}")
    network = Network(forward_op, input_vars, [output_name], scope=local_scope)
    for name in wanted:
        checked_output(network, output_name, name)
    inputs = [Input(name, np.array(network.tensor(name))) for name in wanted]
    target = NetworkTarget(
        network.who, forward_op, input_vars, inputs, wanted, [output_name], constants, local_scope
    )
    if limits == (None, None):
        from fluidcore.gradcheck.pipeline import run_check

        report = run_check(target, config or GradCheckConfig(seed=seed))
        report.assert_ok()
        return report
    limit = _MAX_RELATIVE_ERROR if max_relative_error is None else max_relative_error
    return _compared(target, output_name, limit, delta, seed)


def _names(what: str, names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise TypeError(f"{what} must be a list of names, got the str {names!r}")
    if not isinstance(names, Iterable):
        raise TypeError(f"{what} must be a list of names, got {type(names).__name__}")
    return [check_name(f"a name in {what}", name) for name in names]


def _compared(
    target: NetworkTarget, output_name: str, limit: float, delta: float | None, seed: int
) -> GradCheckReport:
    """The report of a comparison that found nothing; raises GradientError otherwise."""
    calls = Calls(target)
    (output,) = calls.forward(calls.point(target.dtype), target.dtype)
    weights = np.random.default_rng([seed, 0x9D5C]).standard_normal(output.shape)
    weights += np.copysign(0.3, weights)  # an element of nearly 0 would hide an error
    weights = weights.astype(output.dtype)
    started = time.perf_counter()
    operators = calls.gradient(calls.point(target.dtype), [weights], target.dtype)
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
