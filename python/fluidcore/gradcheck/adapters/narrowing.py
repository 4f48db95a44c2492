"""Whether a function of float64 numbers is the same function, calculated in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fluidcore.gradcheck.target.target import SHADOW, Array, Target

_FINER, _COARSER = 2.0**-30, 2.0**-18  # relative steps below and above float32's rounding
_COARSE = 2.0**-6  # above that of float16
_NEAR = {"float32": 0.01, "float16": 0.1, "bfloat16": 0.3}  # how near y must be, relative to |y|


def another_function(native: Sequence[Array], wide: Sequence[Array], dtype: str) -> bool:
    """Whether outputs in `dtype` and in float64 are further apart than rounding can bring them."""
    if [y.shape for y in native] != [y.shape for y in wide]:
        return True
    for narrow, y in zip(native, wide, strict=True):
        with np.errstate(all="ignore"):
            apart = np.linalg.norm(narrow.astype(np.float64) - y)
            size = np.linalg.norm(y)
        if apart > _NEAR[dtype] * size + 1e-6:  # NaN: both are not finite, or an overflow
            return True
    return False


def _absorbed(at: dict[float, Array]) -> bool:
    """Whether y is so much larger than its change that even float64 cannot hold a finer one.

    That a change is there which float32 could not hold shows that y is float64.
    """
    with np.errstate(all="ignore"):
        size = float(np.max(np.abs(at[0.0]), initial=0.0))
        change = max(float(np.max(np.abs(y - at[0.0]), initial=0.0)) for y in at.values())
        return 0 < change < 2.0**-27 * size


def rounds_inside(forward: Callable[[Sequence[Array], str], list[Array]], xs: list[Array]) -> bool:
    """Whether f does not feel a small step: an argument is rounded to a smaller dtype inside.

    If only some of the ways from x to y are rounded, then the slope is another one for a smaller
    step. At the points, which are numbers of the smaller dtype, rounding hides every small step.

    Args:
        forward: f(xs, dtype).
        xs: The point, float64.
    """
    signs = [np.random.default_rng(i).choice([-1.0, 1.0], x.shape) for i, x in enumerate(xs)]
    at: dict[float, Array] = {}
    for step in (0.0, _FINER, _COARSER, _COARSE):
        ys = forward([x * (1 + step * s) for x, s in zip(xs, signs, strict=True)], SHADOW)
        at[step] = np.concatenate([np.ravel(y) for y in ys]).astype(np.float64)
    with np.errstate(all="ignore"):
        finer, coarser, coarse = (
            (at[step] - at[0.0]) / step for step in (_FINER, _COARSER, _COARSE)
        )
        apart = np.linalg.norm(coarser - finer)
        size = max(np.linalg.norm(coarser), np.linalg.norm(coarse))
    if _absorbed(at):
        return False
    unmoved = not np.any(finer) and np.any(coarse)
    return bool(unmoved or apart > 0.2 * size)


def why_no_shadow(
    target: Target,
    native: Sequence[Array],
    xs: list[Array],
    narrowing: Callable[[list[Array]], str],
) -> str:
    """Why a function of a smaller dtype has no float64 form; "" if it has one.

    Args:
        target: The function.
        native: Its outputs in its own dtype.
        xs: The point, float64.
        narrowing: What in a float64 run at `xs` is less than float64.
    """
    try:
        ys = target.forward(xs, SHADOW)
        grads = target.vjp(xs, [np.ones_like(y) for y in ys], SHADOW)
        narrow = narrowing(xs)
    except Exception as error:  # whatever a framework raises for a dtype it does not know
        message = str(error).strip().partition("\n")[0]
        return f"it does not run in float64: {type(error).__name__}: {message}"
    for what, arrays in (("it returns", ys), ("its gradient is", grads)):
        if wrong := [a.dtype.name for a in arrays if a.dtype != np.float64]:
            return f"{what} {wrong[0]} for float64 arguments"
    if another_function(native, ys, target.dtype):
        return "it is another function in float64, perhaps with other random numbers"
    return narrow
