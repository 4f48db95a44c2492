"""grad_table: every gradient of a training program against numerical differentiation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.executor import global_scope
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.program import Program, Variable

Pair: TypeAlias = "tuple[Variable | str, Variable | str | None]"

_TOLERANCE = {"float32": 0.02, "float64": 1e-6}
_TINY = 2.0**-1000
_SMALLEST = 0.01  # elements below this part of the largest are compared with that part
_LADDER = (1.0, 2.0**-3, 2.0**-6)  # a given step that crosses a kink of relu is made smaller


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
    delta: float | None = None,
    tolerance: float | None = None,
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
        delta: Step of the central differences; None for differences of many steps, extrapolated,
            with their rounding errors.
        tolerance: The largest relative error that is right; None for what suits `dtype`.

    Returns:
        A row for each parameter that has a gradient.
    """
    if dtype not in _TOLERANCE:
        raise core.InvalidArgument(f"grad_table: dtype must be float32 or float64, got '{dtype}'")
    tolerance = _TOLERANCE[dtype] if tolerance is None else tolerance
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
    noise = core.measure_noise(function)[0] if dtype == "float32" and delta is None else None
    rng = np.random.default_rng(seed)
    rows = []
    for i, (name, gradient) in enumerate(zip(names, gradients, strict=True)):
        size = gradient.size
        count = min(elements, size) if elements > 0 else size
        chosen = np.sort(rng.choice(size, count, replace=False))
        largest = float(np.max(np.abs(gradient), initial=0.0))
        limits = _Limits(tolerance, _SMALLEST * largest)
        claimed = gradient.ravel()[chosen]
        if delta is None:
            absolute, relative = _extrapolated_errors(function, i, chosen, claimed, limits, noise)
        else:
            absolute, relative = _errors_at(function, i, chosen, claimed, limits, delta)
        rows.append(
            GradRow(
                name,
                gradient.shape,
                count,
                float(np.max(absolute, initial=0.0)),
                float(np.max(relative, initial=0.0)),
                bool(np.all(relative <= tolerance)),
            )
        )
    return rows


class _Limits(NamedTuple):
    tolerance: float
    small: float  # what smaller elements are compared with

    def relative(self, error: Doubles, numerical: Doubles, noise: Any) -> Doubles:
        """Errors divided by the derivatives; noise alone never exceeds the tolerance."""
        floor = np.maximum(self.small, noise / self.tolerance)
        relative: Doubles = error / np.maximum(np.maximum(np.abs(numerical), floor), _TINY)
        return np.where(np.isfinite(relative) & np.isfinite(noise), relative, np.inf)


def _extrapolated_errors(
    function: core.Function,
    index: int,
    elements: NDArray[np.int64],
    gradient: Doubles,
    limits: _Limits,
    noise: Doubles | None,
) -> tuple[Doubles, Doubles]:
    """The absolute and relative error of each element; at a kink, both slopes are right."""
    found = core.differentiate(function, index, [np.ones(1)], elements=elements, noise=noise)
    absolute = np.maximum(np.maximum(found.low[0] - gradient, gradient - found.high[0]), 0.0)
    absolute = np.where(np.isnan(gradient), np.inf, absolute)
    rounding = 2.0**10 * _rounding_of_loss(function)  # of the gradient operators: a true 0 has it
    return absolute, limits.relative(absolute, found.value[0], found.error[0] + rounding)


def _errors_at(
    function: core.Function,
    index: int,
    elements: NDArray[np.int64],
    gradient: Doubles,
    limits: _Limits,
    delta: float,
) -> tuple[Doubles, Doubles]:
    """The absolute and relative error of each element, at the step where it is least.

    A right gradient agrees as soon as the step is too small to cross a kink; a wrong one at none.
    """
    noise = 8 * _rounding_of_loss(function) / delta
    absolute = np.full(len(elements), np.inf)
    relative = absolute.copy()
    for factor in _LADDER:
        again = np.flatnonzero(~(relative <= limits.tolerance))
        if again.size == 0:
            break
        step = delta * factor
        numerical = core.difference(function, index, step, elements=elements[again])
        error = np.abs(numerical - gradient[again])
        error = np.where(np.isfinite(error), error, np.inf)
        scaled = limits.relative(error, numerical, noise / factor)
        better = scaled < relative[again]
        absolute[again] = np.where(better, error, absolute[again])
        relative[again] = np.where(better, scaled, relative[again])
    return absolute, relative


def _rounding_of_loss(function: core.Function) -> float:
    (loss,) = (np.asarray(tensor) for tensor in function.run())
    return core.unit_roundoff(loss.dtype.name) * max(1.0, float(np.max(np.abs(loss), initial=0.0)))


def _name(variable: Variable | str) -> str:
    return variable if isinstance(variable, str) else variable.name
