"""The gradient of one operator against its numerical derivative along a random direction."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck.localise.operator_run import OneOp, Slot, places_of
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import Array, Doubles

_LIMIT = 3.0  # error bars
_DIGITS = 1e-9  # constants of a formula may differ in their last digits
_TRUE_ZERO = 1e-4  # times _DIGITS, of the outputs: what rounding leaves of a derivative of 0
_WIDEST = 1e-4  # an error bar above this part of the derivative proves nothing
_DIRECTIONS = 2
_KINK = 1
_JUMP_OR_DOMAIN = 2 | 4


class Found(Enum):
    """Whether a gradient is right."""

    RIGHT = "right"
    WRONG = "wrong"
    UNDECIDED = "undecided"


def check_along(
    function: core.Function,
    gradient: Array,
    cotangents: Mapping[str, Array] | list[Array],
    name: str,
    seed: int,
    position: int = 0,
    count: int = 1,
    is_smooth: bool = False,
) -> tuple[Found, str]:
    """Compares a gradient with derivatives along random directions of one input.

    Args:
        function: Of `count` inputs.
        gradient: By the input at `position`.
        cotangents: Of the outputs, in order.
        name: Keys the random numbers.
        seed: Of these.
        position: Index of the input.
        count: Of the inputs.
        is_smooth: Whether nothing can be said at a kink: behind it, what lies between the
            one-sided derivatives need not be all that is right.

    Returns:
        The verdict, and what was seen.
    """
    parts = list(cotangents.values() if isinstance(cotangents, Mapping) else cotangents)
    flat = [np.asarray(part, dtype=np.float64).ravel() for part in parts]
    v = np.concatenate(flat) if flat else np.zeros(0)
    a = gradient.astype(np.float64).ravel()
    if a.size == 0 or not np.all(np.isfinite(v)):
        return Found.UNDECIDED, "the gradient that comes in is not finite"
    y = np.concatenate([np.asarray(out).astype(np.float64).ravel() for out in function.run()])
    with np.errstate(invalid="ignore", over="ignore"):
        size = float(np.sum(np.abs(v * y)))
    rounding = _TRUE_ZERO * size if np.isfinite(size) else 0.0
    for i in range(_DIRECTIONS):
        d = _direction(a.size, seed, f"{name} {i}")
        directions: list[Array | None] = [None] * count
        directions[position] = d
        found = core.differentiate_along(function, directions, [v])
        value, error, low, high, scale = (
            float(x[0, 0]) for x in (found.value, found.error, found.low, found.high, found.scale)
        )
        useless = _JUMP_OR_DOMAIN | (_KINK if is_smooth else 0)
        if int(found.flags[0]) & useless or not np.isfinite(error):
            return Found.UNDECIDED, "no derivative here"
        scale += float(np.sum(np.abs(np.where(np.isfinite(a), a * d, 0.0)))) + rounding
        if error > _WIDEST * scale:
            return Found.UNDECIDED, "no sharp derivative here"
        with np.errstate(invalid="ignore"):
            actual = float(a @ d)
        off = max(low - actual, actual - high)
        if not off <= _LIMIT * error + _DIGITS * scale:
            return Found.WRONG, f"{actual:.6g} along a direction where it must be {value:.6g}"
    return Found.RIGHT, ""


def check_operator(
    op: core.OpDesc,
    values: Mapping[str, Array],
    cotangents: Mapping[str, Array],
    gradients: Mapping[Slot, Array],
    seed: int,
) -> dict[Slot, tuple[Found, str]]:
    """Checks gradients of one operator by its inputs.

    Args:
        op: A forward operator without block.
        values: Variable -> the value that it read, float64.
        cotangents: Variable that it writes -> the gradient that comes in; none stands for zeros.
        gradients: Place in an input slot -> the gradient that goes out.
        seed: Of the directions.

    Raises:
        core.Error: The operator cannot be run.
    """
    one = OneOp.of(op, values)
    results = one.run()
    outputs = [place for place, _ in places_of(op.outputs())]
    outputs = [place for place in outputs if results[place].dtype.name in FLOATING]
    names = dict(places_of(op.outputs()))
    incoming: list[Array] = []
    for place in outputs:
        zeros = np.zeros(results[place].shape)
        incoming.append(cotangents.get(names[place], zeros))
        if incoming[-1].shape != zeros.shape:
            return dict.fromkeys(gradients, (Found.UNDECIDED, "a gradient of another shape"))
    inputs = list(gradients)
    read = [one.inputs[place] for place in inputs]
    function = one.network.function(read, [one.outputs[place] for place in outputs])
    found = {}
    for i, place in enumerate(inputs):
        expected = tuple(one.network.tensor(one.inputs[place]).get_dims())
        if gradients[place].shape != expected:
            detail = f"shape {list(gradients[place].shape)} where it must be {list(expected)}"
            found[place] = Found.WRONG, detail
            continue
        key = f"{op.type()} {place}"
        found[place] = check_along(function, gradients[place], incoming, key, seed, i, len(inputs))
    return found


def _direction(size: int, seed: int, name: str) -> Doubles:
    """Normal numbers of few digits, so that steps along it are exact; none is nearly zero."""
    d = stream(seed, name, "localise").standard_normal(size)
    d += np.copysign(0.125, d)
    return np.round(d * 64) / 64
