"""Functions of JAX arrays, compiled once for all checks that trace the same steps."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from fluidcore.gradcheck.target.random_numbers import draw_same_numbers
from fluidcore.gradcheck.target.target import Array

Program: TypeAlias = Callable[..., list[Any]]

_KEPT = 128


@dataclass(frozen=True)
class _Trace:
    """What a function does, as far as its arguments do not tell.

    Attributes:
        steps: All that two traces must have in common to be the same function.
        is_wide: Whether JAX has 64 bits then.
        jaxpr: The trace. It keeps alive what `steps` tells apart by its address.
    """

    steps: Hashable
    is_wide: bool
    jaxpr: Any = field(compare=False)


@functools.lru_cache(maxsize=_KEPT)
def _compiled(trace: _Trace) -> Program:
    from jax.extend.core import jaxpr_as_fun  # type: ignore[import-not-found]

    run: Program = sys.modules["jax"].jit(jaxpr_as_fun(trace.jaxpr))
    return run


def traced(f: Program, arrays: Sequence[Array]) -> Any:
    """The jaxpr of a function, for arguments of these shapes and dtypes.

    It is traced anew: what it reads besides its arguments may have changed since the last check.

    Args:
        f: From arrays to a list of arrays.
        arrays: Its arguments.

    Raises:
        Exception: Whatever f raises where its arguments have no values yet.
    """
    draw_same_numbers()  # which a trace keeps
    return sys.modules["jax"].make_jaxpr(f)(*arrays)


def compiled(jaxpr: Any) -> Program:
    """A trace as JAX compiles it, once for all traces of the same steps."""
    is_wide = bool(sys.modules["jax"].config.jax_enable_x64)
    return _compiled(_Trace(_value(jaxpr), is_wide, jaxpr))


def _steps(jaxpr: Any) -> Hashable:
    """The equations, with numbers for variables, which are others in every trace."""
    numbers: dict[Any, int] = {}

    def variable(var: Any) -> Hashable:
        known = _value(var.val) if hasattr(var, "val") else numbers.setdefault(var, len(numbers))
        return known, var.aval

    return (
        *(tuple(map(variable, group)) for group in (jaxpr.constvars, jaxpr.invars)),
        *(
            (
                equation.primitive,
                tuple(map(variable, equation.invars)),
                tuple((name, _value(value)) for name, value in _parameters(equation)),
                tuple(map(variable, equation.outvars)),
            )
            for equation in jaxpr.eqns
        ),
        tuple(map(variable, jaxpr.outvars)),
    )


def _parameters(equation: Any) -> list[tuple[str, Any]]:
    """All but the rules of differentiation, which do not matter once a function is traced."""
    found = sorted(equation.params.items())
    if not equation.primitive.name.startswith(("custom_jvp_call", "custom_vjp_call")):
        return found
    return [(name, value) for name, value in found if hasattr(value, "eqns")]


def _value(value: Any) -> Hashable:
    """Equal for values that mean the same; for the same object alone where that is unknown."""
    if hasattr(value, "consts") and hasattr(value, "jaxpr"):
        return _steps(value.jaxpr), tuple(map(_value, value.consts))
    if hasattr(value, "eqns"):
        return _steps(value)
    if isinstance(value, (list, tuple)):
        return type(value), *map(_value, value)
    if isinstance(value, (np.ndarray, np.generic, sys.modules["jax"].Array)):
        array = np.asarray(value)
        return str(array.dtype), array.shape, array.tobytes()
    if isinstance(value, float):
        return float, value.hex()
    is_hashable = isinstance(value, Hashable) and type(value).__hash__ is not None
    return type(value), value if is_hashable else id(value)
