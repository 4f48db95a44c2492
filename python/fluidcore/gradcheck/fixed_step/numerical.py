"""Gradients by finite differences: they need the forward operator only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name, check_number
from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_name
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.program.source import Source
from fluidcore.gradcheck.target.target import SHADOW, Doubles

Method = Literal["auto", "central", "forward"]

_DELTA = 0.005  # of a method with a fixed step, if none is given


def get_numerical_gradient(
    op: Source,
    input_values: Mapping[str, Any],
    output_name: str,
    input_to_check: str,
    delta: float | None = None,
    local_scope: core.Scope | None = None,
    *,
    place: core.CPUPlace | None = None,
    dtype: DTypeLike | None = None,
    cotangent: Any = None,
    method: Method = "auto",
    return_error: bool = False,
) -> Any:
    """The gradient of the sum of all elements of an output, by every element of an input.

    Without `delta`, differences of many steps are extrapolated in float64, each step with its
    rounding error: that is accurate to ten digits and more, and the error is known. With `delta`
    it is (y(x + delta) - y(x - delta)) / delta / 2, where y is the sum, in the dtype of the values.

    Neither `input_values` nor the variables of `local_scope` are changed. Random operators draw the
    same numbers in every run.

    Args:
        op: An Operator, or a network of them: a Program, a Block, or the description of one.
        input_values: Variable name -> value.
        output_name: The final output, floating.
        input_to_check: The variable with respect to which the gradient is computed, floating.
        delta: What is added to and subtracted from an element. Small is accurate until rounding
            takes over: about 6e-6 times the element in float64, 5e-3 in float32.
        local_scope: Where the values of variables are that `input_values` does not hold.
        place: Where the operators run; CPUPlace() is the one there is.
        dtype: What the operators calculate in; None for float64 without `delta`, else for that of
            the values.
        cotangent: Factors of the elements of the output in the sum, of its shape; None: ones.
        method: "central", or "forward": [y(x + delta) - y(x)] / delta; "auto" is "central" with
            `delta`.
        return_error: Whether to return the triple (gradient, error, info): how far each element may
            be from the truth, and what the engine found, core.Derivatives.

    Returns:
        The gradient in float64, of the shape of `input_to_check`.

    Raises:
        core.NotFound: The output or an input is unknown.
        core.InvalidArgument: A value is missing, not floating, or has the wrong shape or dtype.
    """
    if not (place is None or isinstance(place, core.CPUPlace)):
        raise core.InvalidArgument(f"place must be CPUPlace(), got {place!r}")
    if method not in get_args(Method):
        known = ", ".join(get_args(Method))
        raise core.InvalidArgument(f"method must be one of {known}, got {method!r}")
    fixed = delta is not None or method != "auto"
    network = Network(op, input_values, [output_name], scope=local_scope)
    check_name("input_to_check", input_to_check)
    weights = None if cotangent is None else _numbers(network.who, cotangent)
    step = _DELTA if delta is None else delta
    output = checked_output(network, output_name, input_to_check, step, weights)
    if dtype is not None or not fixed:
        dtype = SHADOW if dtype is None else dtype_name(dtype)
        if dtype not in FLOATING:
            raise core.InvalidArgument(f"{network.who}: dtype must be floating, got {dtype}")
        network = Network(op, input_values, [output_name], scope=local_scope, dtype=dtype)
    shape = network.tensor(input_to_check).get_dims()
    factors = (np.ones(output.shape) if weights is None else weights).reshape(-1)
    function = network.function([input_to_check], [output_name])
    if not fixed:
        found = core.differentiate(function, 0, [factors])
        gradient = np.array(found.value[0]).reshape(shape)
        error = np.array(found.error[0]).reshape(shape)
        return (gradient, error, found) if return_error else gradient

    difference = core.difference(
        function,
        0,
        step,
        weights=None if weights is None else factors,
        forward=method == "forward",
    )
    gradient = np.asarray(difference).reshape(shape)
    if not return_error:
        return gradient
    exact = Network(op, input_values, [output_name], scope=local_scope, dtype=SHADOW)
    found = core.differentiate(exact.function([input_to_check], [output_name]), 0, [factors])
    distance = np.abs(gradient.reshape(-1) - found.value[0]) + found.error[0]
    return gradient, distance.reshape(shape), found


def _numbers(who: str, cotangent: Any) -> Doubles:
    given = np.asarray(cotangent)
    if given.dtype.kind not in "fiub" and given.dtype.name not in FLOATING:
        raise core.InvalidArgument(
            f"{who}: cotangent must be an array of real numbers, got {given.dtype.name}"
        )
    return given.astype(np.float64)


def checked_output(
    network: Network,
    output_name: str,
    input_to_check: str,
    delta: float = _DELTA,
    weights: Doubles | None = None,
) -> Doubles:
    """The output, after a look at everything that must fit."""
    if not (math.isfinite(check_number("delta", delta, finite=False)) and delta > 0):
        raise core.InvalidArgument(f"{network.who}: delta must be positive, got {delta}")
    tensor = network.tensor(input_to_check)
    output: Doubles = network.run([output_name])[0]
    for what, name, dtype in (
        ("input", input_to_check, tensor.dtype()),
        ("output", output_name, output.dtype.name),
    ):
        if dtype not in FLOATING:
            raise core.InvalidArgument(
                f"{network.who}: the {what} '{name}' must be floating to be differentiated, "
                f"got {dtype}"
            )
    if weights is not None and weights.shape != output.shape:
        raise core.InvalidArgument(
            f"{network.who}: cotangent must have the shape of '{output_name}', "
            f"{list(output.shape)}, got {list(weights.shape)}"
        )
    return output
