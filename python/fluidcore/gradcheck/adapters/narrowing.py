"""Whether a function of wider numbers is the same function, calculated with their digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fluidcore.gradcheck.target.calls import cast
from fluidcore.gradcheck.target.target import SHADOW, Array, Target

# Relative steps below the rounding of the next smaller dtype, above it, and far above it.
_STEPS = {"float64": (2.0**-30, 2.0**-18, 2.0**-6), "float32": (2.0**-16, 2.0**-5, 2.0**-4)}
_HELD = {"float64": 2.0**-27, "float32": 2.0**-14}  # a change that the smaller dtype cannot hold
_NEAR = {"float32": 0.01, "float16": 0.1, "bfloat16": 0.3}  # how near y must be, relative to |y|


def another_function(native: Sequence[Array], wide: Sequence[Array], dtype: str) -> bool:
    """Whether outputs in `dtype` and in a wider one are further apart than rounding allows."""
    if [y.shape for y in native] != [y.shape for y in wide]:
        return True
    for narrow, y in zip(native, wide, strict=True):
        with np.errstate(all="ignore"):
            apart = np.linalg.norm(narrow.astype(np.float64) - y.astype(np.float64))
            size = np.linalg.norm(y)
        if apart > _NEAR[dtype] * size + 1e-6:  # NaN: both are not finite, or an overflow
            return True
    return False


def _absorbed(at: dict[float, Array], dtype: str) -> bool:
    """Whether y is so much larger than its change that even `dtype` cannot hold a finer one.

    That a change is there which the next smaller dtype could not hold shows that y is of `dtype`.
    """
    with np.errstate(all="ignore"):
        size = float(np.max(np.abs(at[0.0]), initial=0.0))
        change = max(float(np.max(np.abs(y - at[0.0]), initial=0.0)) for y in at.values())
        return 0 < change < _HELD[dtype] * size


def rounds_inside(
    forward: Callable[[Sequence[Array], str], list[Array]], xs: list[Array], dtype: str = SHADOW
) -> bool:
    """Whether f does not feel a small step: an argument is rounded to a smaller dtype inside.

    If only some of the ways from x to y are rounded, then the slope is another one for a smaller
    step. At the points, which are numbers of the smaller dtype, rounding hides every small step.

    Args:
        forward: f(xs, dtype).
        xs: The point, of `dtype`.
        dtype: "float64" or "float32".
    """
    steps = _STEPS[dtype]
    signs = [np.random.default_rng(i).choice([-1.0, 1.0], x.shape) for i, x in enumerate(xs)]
    at: dict[float, Array] = {}
    for step in (0.0, *steps):
        moved = [x * (1 + step * s) for x, s in zip(xs, signs, strict=True)]
        ys = forward([cast(x, dtype) for x in moved], dtype)
        at[step] = np.concatenate([np.ravel(y) for y in ys]).astype(np.float64)
    with np.errstate(all="ignore"):
        finer, coarser, coarse = ((at[step] - at[0.0]) / step for step in steps)
        apart = np.linalg.norm(coarser - finer)
        size = max(np.linalg.norm(coarser), np.linalg.norm(coarse))
    if _absorbed(at, dtype):
        return False
    unmoved = not np.any(finer) and np.any(coarse)
    return bool(unmoved or apart > 0.2 * size)


def why_no_shadow(
    target: Target,
    native: Sequence[Array],
    xs: list[Array],
    narrowing: Callable[[list[Array], str], str],
    dtype: str = SHADOW,
) -> str:
    """Why a function of a smaller dtype has no form in `dtype`; "" if it has one.

    Args:
        target: The function.
        native: Its outputs in its own dtype.
        xs: The point, of `dtype`.
        narrowing: What in a run at `xs` is less than `dtype`.
        dtype: The wider one.
    """
    try:
        ys = target.forward(xs, dtype)
        grads = target.vjp(xs, [np.ones_like(y) for y in ys], dtype)
        narrow = narrowing(xs, dtype)
    except Exception as error:  # whatever a framework raises for a dtype it does not know
        message = str(error).strip().partition("\n")[0]
        return f"it does not run in {dtype}: {type(error).__name__}: {message}"
    for what, arrays in (("it returns", ys), ("its gradient is", grads)):
        if wrong := [a.dtype.name for a in arrays if a.dtype != np.dtype(dtype)]:
            return f"{what} {wrong[0]} for {dtype} arguments"
    if another_function(native, ys, target.dtype):
        return f"it is another function in {dtype}, perhaps with other random numbers"
    return narrow
