"""Gradients by finite differences: they need the forward operator only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name, check_number
from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_name
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.program.source import Source
from fluidcore.gradcheck.target.target import SHADOW, Doubles

Method = Literal["auto", "central", "forward", "5point", "richardson"]

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
        method: "central", "forward": [y(x + delta) - y(x)] / delta; "5point", of error delta⁴;
            "richardson", of error delta⁶. "auto" is "central" with `delta`.
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
    if method not in ("auto", *_METHODS):
        known = ", ".join(["auto", *_METHODS])
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

    flat_weights = None if weights is None else factors
    by_method = _METHODS["central" if method == "auto" else method]
    gradient = by_method(
        lambda h, forward: np.asarray(
            core.difference(function, 0, h, weights=flat_weights, forward=forward)
        ),
        step,
    ).reshape(shape)
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


Difference = Callable[[float, bool], Doubles]


def _central(difference: Difference, h: float) -> Doubles:
    return difference(h, False)


def _forward(difference: Difference, h: float) -> Doubles:
    return difference(h, True)


def _five_point(difference: Difference, h: float) -> Doubles:
    return (4 * difference(h, False) - difference(2 * h, False)) / 3


def _richardson(difference: Difference, h: float) -> Doubles:
    return (16 * _five_point(difference, h) - _five_point(difference, 2 * h)) / 15


_METHODS: Mapping[str, Callable[[Difference, float], Doubles]] = {
    "central": _central,
    "forward": _forward,
    "5point": _five_point,
    "richardson": _richardson,
}


def element_by_element(
    network: Network,
    output_name: str,
    input_to_check: str,
    delta: float,
    *,
    weights: Doubles | None = None,
) -> Doubles:
    """The central differences of get_numerical_gradient in plain Python: slow, and what is meant.

    core.difference gives the same numbers to the last bit.

    Args:
        network: Calculates the output.
        output_name: Floating.
        input_to_check: Floating.
        delta: The step.
        weights: Of the shape of the output; None for a plain sum.
    """
    checked_output(network, output_name, input_to_check, delta, weights)
    tensor_to_check = network.tensor(input_to_check)

    def get_output() -> float:
        y = network.run([output_name])[0].astype(np.float64).reshape(-1)
        terms = y if weights is None else weights.reshape(-1) * y
        return float(np.cumsum(terms)[-1]) if terms.size else 0.0  # one after the other

    gradient_flat = np.zeros(tensor_to_check.size())
    for i in range(tensor_to_check.size()):
        original = tensor_to_check.get_float_element(i)
        try:
            tensor_to_check.set_float_element(i, original + delta)
            y_pos = get_output()
            tensor_to_check.set_float_element(i, original - delta)
            y_neg = get_output()
        finally:
            tensor_to_check.set_float_element(i, original)
        gradient_flat[i] = (y_pos - y_neg) / delta / 2
    return gradient_flat.reshape(tensor_to_check.get_dims())


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
