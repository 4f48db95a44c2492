"""Checks the gradients of JAX's own operators, at the points that JAX tests them at.

    python tools/check_jax_operators.py [--only REGEX] [--samples 2] [--dtypes float64,float32]
        [--second-order]

The operators are those of jax._src.internal_test_util, `lax_test_util.lax_ops` and
`test_harnesses.all_harnesses`, that jax.vjp differentiates and that are finite at their points.
Prints a line for every one whose gradient does not pass, and how many do. Exits with 1 if a
gradient fails without an explanation below, or the checker raises.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)  # else the lists have no float64
from jax._src.internal_test_util import lax_test_util, test_harnesses  # noqa: E402
from operator_outcomes import Sample, check_all  # noqa: E402

from fluidcore.base.dtypes import numpy_dtype  # noqa: E402
from fluidcore.gradcheck.adapters import callable_target  # noqa: E402

SHAPE = (3, 4)

# Why a gradient of JAX fails; each for somebody who maintains the operator.
_LOWER = (
    "f reads one triangle of a matrix that should be symmetric, and the gradient is that by "
    "symmetric changes of it"
)
_NONE = "no gradient, by definition"
EXPLANATIONS = {
    "bitcast_convert_type": _NONE,
    "cholesky": _LOWER,
    "clamp": "where min > max the gradient by min is not 0, though max is the result",
    "digamma": "polygamma(1, x) of x < -8 is off by up to 1 %",
    "eigh": _LOWER,
    "random_gamma": "the gradient is the implicit one of the distribution, not that of the number "
    "that the rejection sampler draws",
    "scatter_add": "an index out of bounds breaks the promise PROMISE_IN_BOUNDS",
    "stop_gradient": _NONE,
}


def calls(dtype: str) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:
    """All operators with their arguments at a point."""
    for row in lax_test_util.lax_ops():
        if numpy_dtype(dtype) in map(np.dtype, row.dtypes):
            draw = row.rng_factory(np.random.RandomState(0))
            arguments = [jnp.asarray(draw(SHAPE, dtype)) for _ in range(row.nargs)]
            yield row.op, getattr(lax, row.op), arguments
    for one in test_harnesses.all_harnesses:
        if one.dtype is not None and np.dtype(one.dtype) == numpy_dtype(dtype):
            arguments = one.dyn_args_maker(np.random.RandomState(0))
            given = [jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
            yield one.group_name, one.dyn_fun, given


def can_be_checked(f: Callable[..., Any], arguments: list[Any]) -> bool:
    """Whether JAX differentiates it, at a point where it is finite."""
    floating = [i for i, a in enumerate(arguments) if _is_floating(a)]

    def of_floating(*xs: Any) -> list[Any]:
        given = list(arguments)
        for i, x in zip(floating, xs, strict=True):
            given[i] = x
        return list(filter(_is_floating, jax.tree.leaves(f(*given))))

    try:
        ys, pull = jax.vjp(of_floating, *(arguments[i] for i in floating))
        pull([jnp.ones_like(y) for y in ys])
    except Exception:  # there is no type for what has no gradient
        return False
    return bool(floating and ys) and all(bool(jnp.isfinite(y).all()) for y in ys)


def _is_floating(value: Any) -> bool:
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating)


def all_samples(only: str, dtype: str, count: int) -> Iterator[Sample]:
    """Of all operators."""
    seen: Counter[str] = Counter()
    for name, f, arguments in calls(dtype):
        if seen[name] >= count or not re.search(only, name) or not can_be_checked(f, arguments):
            continue
        seen[name] += 1
        target = partial(callable_target, f, arguments, name=name, framework="jax")
        yield Sample(name, target)


if __name__ == "__main__":
    sys.exit(check_all(__doc__.partition("\n")[0], all_samples, EXPLANATIONS))
