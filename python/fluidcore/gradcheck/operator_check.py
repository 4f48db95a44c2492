"""check_grad: gradient operators against numerical differentiation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name, check_number
from fluidcore.gradcheck.adapters.network_target import NetworkTarget
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.fixed_step.numerical import checked_output
from fluidcore.gradcheck.fixed_step.operator_gradients import compared
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.program.source import Source
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.target.target import Input

_MAX_RELATIVE_ERROR = 0.005


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
        only_cpu: Whether only the CPU kernels are checked. Else, where the build has kernels for
            GPUs and there is one, theirs are checked too, against the same numerical gradient.
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
    devices = ["cpu"]
    if not only_cpu and core.get_cuda_device_count() > 0:
        devices.append("cuda")
    settings = config or GradCheckConfig(seed=seed)
    reports = []
    for device in devices if settings.device == "cpu" else [settings.device]:
        target = NetworkTarget(
            network.who,
            forward_op,
            input_vars,
            inputs,
            wanted,
            [output_name],
            constants,
            local_scope,
        )
        if limits == (None, None):
            reports.append(run_check(target, replace(settings, device=device)))
            reports[-1].assert_ok()
        else:
            if device != "cpu":
                target.move_to(device)
            limit = _MAX_RELATIVE_ERROR if max_relative_error is None else max_relative_error
            reports.append(compared(target, output_name, limit, delta, seed))
    first, *others = reports
    return replace(first, results=sum((each.results for each in others), start=first.results))


def _names(what: str, names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise TypeError(f"{what} must be a list of names, got the str {names!r}")
    if not isinstance(names, Iterable):
        raise TypeError(f"{what} must be a list of names, got {type(names).__name__}")
    return [check_name(f"a name in {what}", name) for name in names]
