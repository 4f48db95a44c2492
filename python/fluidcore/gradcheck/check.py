"""check_grad: the gradient operators against numerical differentiation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.backward import gradients
from fluidcore.gradcheck.compare import GradientError, worst_element
from fluidcore.gradcheck.network import Array, Network
from fluidcore.gradcheck.numerical import differentiate
from fluidcore.gradcheck.source import Source
from fluidcore.program import Program

_ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
_STEP = 2.0**-17  # near the cube root of float64's rounding error


def check_grad(
    forward_op: Source,
    input_vars: Mapping[str, Any],
    inputs_to_check: Sequence[str],
    output_name: str,
    no_grad_set: Iterable[str] | None = None,
    only_cpu: bool = False,
    max_relative_error: float = 0.005,
    *,
    delta: float | None = None,
    seed: int = 0,
    local_scope: core.Scope | None = None,
) -> None:
    """Checks that gradient operators calculate what numerical differentiation finds.

    What is differentiated is a random weighting of the output, so that errors cannot cancel in a
    sum. The gradient operators run in the dtype of the values; the numerical gradient is taken of
    the same operators in float64, at the same values, so that rounding raises no false alarm. Where
    it is below 1e-3, the absolute error counts.

    Args:
        forward_op: An Operator, or a network: a Program, a Block, or the description of one.
        input_vars: Variable name -> value.
        inputs_to_check: The inputs whose gradients are checked.
        output_name: The final output.
        no_grad_set: Variables that are constants for the gradient operators.
        only_cpu: Whether only the CPU kernels are checked; other devices are checked where the
            build has them.
        max_relative_error: The largest relative error that is right. In 16-bit dtypes 16 units of
            rounding are right, relative to the largest element of the gradient.
        delta: The step of the numerical gradient; None for one that suits the size of the values.
        seed: Of the weights.
        local_scope: Where the values of variables are that `input_vars` does not hold.

    Raises:
        GradientError: A gradient is wrong; the message names the worst element.
        core.InvalidArgument: An input has no gradient, or the arguments do not fit.
        core.NotFound: A name is unknown.
    """
    del only_cpu  # the CPU kernels are all there are
    if isinstance(inputs_to_check, str):
        raise TypeError(f"inputs_to_check must be a list of names, got the str {inputs_to_check!r}")
    wanted = list(inputs_to_check)
    if not wanted:
        raise core.InvalidArgument("check_grad: there must be an input to check, got none")
    network = Network(forward_op, input_vars, [output_name], scope=local_scope)
    for name in wanted:
        network.tensor(name)
    output = network.run([output_name])[0]
    weights = np.random.default_rng([seed, 0x9D5C]).standard_normal(output.shape)
    weights += np.copysign(0.3, weights)  # an element of nearly 0 would hide an error
    weights = weights.astype(output.dtype)
    rounding = _ROUNDING.get(output.dtype.name, 0.0)
    limit = max(max_relative_error, 16 * rounding)
    reference = Network(forward_op, input_vars, [output_name], scope=local_scope, dtype="float64")
    actual = _operator_gradients(network, wanted, output_name, weights, no_grad_set)
    for name, operator in zip(wanted, actual, strict=True):
        tensor = network.tensor(name)
        step = _step(np.asarray(reference.tensor(name))) if delta is None else delta
        numerical = differentiate(
            reference, output_name, name, step, weights=weights.astype(np.float64)
        ).reshape(tensor.get_dims())
        floor = float(np.max(np.abs(numerical), initial=0.0)) if rounding else 0.0
        worst = worst_element(numerical, operator, limit, floor=floor)
        if worst is not None and worst.relative_error > limit:
            raise GradientError(
                f"{network.who}: the gradient of '{output_name}' with respect to '{name}' must be "
                f"within {limit:g} of the numerical one, got a relative error of "
                f"{worst.relative_error:.3g} at {list(worst.index)} of {tensor.dtype()} "
                f"{tensor.get_dims()}: numerical {worst.numerical:.6g}, operator "
                f"{worst.operator:.6g}; {worst.wrong} of {worst.total} elements are wrong"
            )


def _step(values: Array) -> float:
    """A power of two that suits values of this size."""
    size = float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0
    return _STEP * 2.0 ** math.floor(math.log2(size)) if 0 < size < math.inf else _STEP


def _operator_gradients(
    network: Network,
    inputs: list[str],
    output_name: str,
    weights: Array,
    no_grad_set: Iterable[str] | None,
) -> list[Array]:
    """What the gradient operators calculate from the cotangent `weights`."""
    constants = set(network.inputs()).difference(inputs).union(no_grad_set or ())
    cotangent = f"{output_name}@WEIGHTS"
    network.add_input(cotangent, weights)
    block = Program.from_desc(network.program).global_block()
    grads = gradients(
        [block.var(output_name)],
        [block.var(name) for name in inputs],
        [block.var(cotangent)],
        no_grad_set=constants,
    )
    names = []
    for name, grad in zip(inputs, grads, strict=True):
        if grad is None:
            raise core.InvalidArgument(
                f"{network.who}: '{output_name}' must depend on '{name}' through operators that "
                "have a gradient, got no such path"
            )
        names.append(grad.name)
    return [result.astype(np.float64) for result in network.run(names)]
