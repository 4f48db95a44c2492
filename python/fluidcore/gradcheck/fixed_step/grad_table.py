"""grad_table: every gradient of a training program against numerical differentiation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.executor import global_scope
from fluidcore.gradcheck.program.network import Network
from fluidcore.program import Program, Variable

Pair: TypeAlias = "tuple[Variable | str, Variable | str | None]"

_TOLERANCE = {"float32": 0.02, "float64": 1e-6}
_TINY = 2.0**-1000
_SMALLEST = 0.01  # elements below this part of the largest are compared with that part


class GradRow(NamedTuple):
    """The verdict on the gradient of one parameter."""

    name: str
    shape: tuple[int, ...]
    checked: int  # elements
    max_abs_error: float
    max_rel_error: float  # to the element; at least to 1 % of the largest, and above rounding
    ok: bool


def grad_table(
    program: Program,
    loss: Variable | str,
    feed: Mapping[str, Any],
    parameters: Sequence[Pair],
    *,
    scope: core.Scope | None = None,
    elements: int = 20,
    seed: int = 0,
    dtype: str = "float64",
) -> list[GradRow]:
    """Compares the gradients of a program with numerical ones.

    The operators of the program are run in `dtype`, whatever their own element type: the same
    formulas in float64 leave rounding no room to hide an error. Neither the program nor the scope
    changes, and random operators draw the same numbers in every run.

    Args:
        program: With the operators of append_backward.
        loss: The number that is differentiated, [1].
        feed: Name -> value of the data.
        parameters: What append_backward returned: (parameter, gradient).
        scope: Holds the parameters; None for the global scope.
        elements: How many elements of each parameter are checked, drawn at random; 0 for all.
        seed: Of the drawing.
        dtype: "float64", or "float32" to see the accuracy of training itself.

    Returns:
        A row for each parameter that has a gradient.
    """
    if dtype not in _TOLERANCE:
        raise core.InvalidArgument(f"grad_table: dtype must be float32 or float64, got '{dtype}'")
    limit = _TOLERANCE[dtype]
    loss_name = _name(loss)
    pairs = [(_name(p), _name(grad)) for p, grad in parameters if grad is not None]
    if not pairs:
        return []
    wanted = [loss_name, *(grad for _, grad in pairs)]
    scope = global_scope() if scope is None else scope
    backward = Network(program, feed, wanted, scope=scope, dtype=dtype)
    _, *gradients = (array.astype(np.float64) for array in backward.run(wanted))
    forward = Network(program, feed, [loss_name], scope=scope, dtype=dtype)
    names = [name for name, _ in pairs]
    function = forward.function(names, [loss_name])
    noise = core.measure_noise(function)[0].near if dtype == "float32" else None
    rng = np.random.default_rng(seed)
    rows = []
    for i, (name, gradient) in enumerate(zip(names, gradients, strict=True)):
        size = gradient.size
        count = min(elements, size) if elements > 0 else size
        chosen = np.sort(rng.choice(size, count, replace=False))
        found = core.differentiate(function, i, [np.ones(1)], elements=chosen, noise=noise)
        # 0 is known only to the rounding of the gradient operators.
        noises = found.error[0] + 2.0**10 * _rounding_of_loss(function)
        floor = np.maximum(_SMALLEST * np.max(np.abs(gradient), initial=0.0), noises / limit)
        scale = np.maximum(np.maximum(np.abs(found.value[0]), floor), _TINY)
        claimed = gradient.ravel()[chosen]  # at a kink, what lies between both slopes is right
        off = np.maximum(np.maximum(found.low[0] - claimed, claimed - found.high[0]), 0.0)
        absolute = np.where(np.isnan(claimed), np.inf, off)
        known = np.isfinite(absolute / scale) & np.isfinite(noises)
        relative = np.where(known, absolute / scale, np.inf)
        rows.append(
            GradRow(
                name,
                gradient.shape,
                count,
                float(np.max(absolute, initial=0.0)),
                float(np.max(relative, initial=0.0)),
                bool(np.all(relative <= limit)),
            )
        )
    return rows


def _rounding_of_loss(function: core.Function) -> float:
    (loss,) = (np.asarray(tensor) for tensor in function.run())
    return core.unit_roundoff(loss.dtype.name) * max(1.0, float(np.max(np.abs(loss), initial=0.0)))


def _name(variable: Variable | str) -> str:
    return variable if isinstance(variable, str) else variable.name
