"""Functions of JAX arrays, compiled once for all checks that trace the same steps."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fluidcore.gradcheck.target import Array

_KEPT = 64


@dataclass(frozen=True)
class _Trace:
    """What a function does, as far as its arguments do not tell.

    Attributes:
        text: Its steps. Functions in it are told apart by their addresses, which nobody else gets
            as long as the trace is kept.
        constants: The arrays that it has closed over: dtype, shape and bytes of each.
        is_wide: Whether JAX has 64 bits then.
        jaxpr: The trace.
    """

    text: str
    constants: tuple[tuple[str, tuple[int, ...], bytes], ...]
    is_wide: bool
    jaxpr: Any = field(compare=False)


@functools.lru_cache(maxsize=_KEPT)
def _compiled(trace: _Trace) -> Callable[..., list[Any]]:
    from jax.extend.core import jaxpr_as_fun  # type: ignore[import-not-found]

    run: Callable[..., list[Any]] = sys.modules["jax"].jit(jaxpr_as_fun(trace.jaxpr))
    return run


def compiled(f: Callable[..., list[Any]], arrays: Sequence[Array]) -> Callable[..., list[Any]]:
    """A function as JAX compiles it for arguments of these shapes and dtypes.

    It is traced anew: what it reads besides its arguments may have changed since the last check.

    Args:
        f: From arrays to a list of arrays.
        arrays: Its arguments.

    Raises:
        Exception: Whatever f raises where its arguments have no values yet.
    """
    jax: Any = sys.modules["jax"]
    jaxpr = jax.make_jaxpr(f)(*arrays)
    values = [np.asarray(constant) for constant in jaxpr.consts]
    constants = tuple((str(value.dtype), value.shape, value.tobytes()) for value in values)
    return _compiled(_Trace(str(jaxpr), constants, bool(jax.config.jax_enable_x64), jaxpr))
