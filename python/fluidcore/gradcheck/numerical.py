"""Gradients by central differences: they need the forward operator only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.checks import check_number
from fluidcore.dtypes import FLOATING
from fluidcore.gradcheck.network import Doubles, Network
from fluidcore.gradcheck.source import Source


def get_numerical_gradient(
    op: Source,
    input_values: Mapping[str, Any],
    output_name: str,
    input_to_check: str,
    delta: float = 0.005,
    local_scope: core.Scope | None = None,
    *,
    output_weights: Any = None,
) -> Doubles:
    """The gradient of the sum of all elements of an output, one input element at a time.

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
        output_weights: Factors of the elements of the output in the sum, of its shape; None: ones.

    Returns:
        The gradient, of the shape of `input_to_check`.

    Raises:
        core.NotFound: The output or an input is unknown.
        core.InvalidArgument: A value is missing, not floating, or has the wrong shape or dtype.
    """
    network = Network(op, input_values, [output_name], scope=local_scope)
    weights = None if output_weights is None else np.asarray(output_weights, dtype=np.float64)
    shape = network.tensor(input_to_check).get_dims()
    flat = differentiate(network, output_name, input_to_check, delta, weights=weights)
    return flat.reshape(shape)


def differentiate(
    network: Network,
    output_name: str,
    input_to_check: str,
    delta: float,
    *,
    weights: Doubles | None = None,
    elements: Iterable[int] | None = None,
) -> Doubles:
    """The derivatives of a weighted sum of an output by some elements of an input.

    Args:
        network: Calculates the output.
        output_name: Floating.
        input_to_check: Floating.
        delta: As for get_numerical_gradient.
        weights: Of the shape of the output; None for ones.
        elements: Indices into the flattened input; None for all.

    Returns:
        A derivative for each of `elements`.
    """
    tensor = network.tensor(input_to_check)
    _check(network, tensor, output_name, input_to_check, delta, weights)

    def output_at(index: int, value: float) -> tuple[float, Doubles]:
        tensor.set_float_element(index, value)
        return tensor.get_float_element(index), network.run([output_name])[0].astype(np.float64)

    derivatives = []
    for index in range(tensor.size()) if elements is None else elements:
        original = tensor.get_float_element(index)
        try:
            x_pos, y_pos = output_at(index, original + delta)
            x_neg, y_neg = output_at(index, original - delta)
        finally:
            tensor.set_float_element(index, original)
        if x_pos == x_neg:
            raise core.InvalidArgument(
                f"{network.who}: delta must change the elements of '{input_to_check}', got {delta} "
                f"for {original} in {tensor.dtype()}; take a larger delta"
            )
        # Differences first: elements that did not move then add no rounding error. And the step
        # is the one that rounding left.
        change = y_pos - y_neg
        derivatives.append(
            np.sum(change if weights is None else change * weights) / (x_pos - x_neg)
        )
    return np.array(derivatives, dtype=np.float64)


def _check(
    network: Network,
    tensor: core.Tensor,
    output_name: str,
    input_to_check: str,
    delta: float,
    weights: Doubles | None,
) -> None:
    if not (math.isfinite(check_number("delta", delta, finite=False)) and delta > 0):
        raise core.InvalidArgument(f"{network.who}: delta must be positive, got {delta}")
    output = network.run([output_name])[0]
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
            f"{network.who}: output_weights must have the shape of '{output_name}', "
            f"{list(output.shape)}, got {list(weights.shape)}"
        )
