"""Whether a function of wider numbers is the same function, calculated with their digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import HALF
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles, Target

# Relative steps below the rounding of a dtype, above it, and far above it.
_OF_16_BITS = (2.0**-16, 2.0**-5, 2.0**-4)
_STEPS = {
    "float32": (2.0**-30, 2.0**-18, 2.0**-6),
    "float16": _OF_16_BITS,
    "bfloat16": _OF_16_BITS,
}
_SMALLER = {"float64": "float32", "float32": "float16"}
_PART = 2.0**0.5 - 1  # of a step: no two moved points are numbers of a smaller dtype
_UNITS = 4.0  # what numbers of about 1 that cancel may leave
_NEAR = {"float32": 0.01, "float16": 0.1, "bfloat16": 0.3}  # how near y must be, relative to |y|


def another(dtype: str) -> str:
    """What is said of a function that is not the same one in `dtype`."""
    return f"it is another function in {dtype}, perhaps with other random numbers"


def another_function(native: Sequence[Array], wide: Sequence[Array], dtype: str) -> bool:
    """Whether outputs in `dtype` and in a wider one are further apart than rounding allows."""
    if [y.shape for y in native] != [y.shape for y in wide]:
        return True
    for narrow, y in zip(native, wide, strict=True):
        with np.errstate(all="ignore"):
            apart = np.linalg.norm(narrow.astype(np.float64) - y.astype(np.float64))
            size = np.linalg.norm(y)
        # NaN: both are not finite, or an overflow.
        if apart > _NEAR[dtype] * size + _UNITS * core.unit_roundoff(dtype) * np.sqrt(y.size):
            return True
    return False


def rounds_inside(
    forward: Callable[[Sequence[Array], str], list[Array]],
    native: Sequence[Array],
    xs: list[Array],
    own: str,
    dtype: str = SHADOW,
    smaller: str = "",
) -> bool:
    """Whether an argument of f is rounded to a smaller dtype inside.

    Then f does not feel a small step; if only some of the ways from x to y are rounded, the slope
    is another one for a smaller step. Both may come from terms of `dtype` that cancel, too. But
    these leave less rounding than the same terms do in a smaller dtype, by the ratio of the two
    units. At the points, which are numbers of the smaller dtype, rounding hides every small step.
    A staircase like `floor` hides one, too; but its treads are no rounding's: they are longer than
    the step that something moves for, and what moves does not move as far for the opposite step.
    Nothing is known where f raises at a step, beyond its domain.

    Args:
        forward: f(xs, dtype).
        native: The outputs of f in its own dtype.
        xs: The point, of `dtype`.
        own: The dtype of f.
        dtype: "float64" or "float32".
        smaller: What it is rounded to; the next one if not given.
    """
    smaller = smaller or _SMALLER[dtype]
    finer, coarser, coarse = _STEPS[smaller]
    is_up = [np.random.default_rng(i).integers(0, 2, x.shape, bool) for i, x in enumerate(xs)]

    def at(step: float) -> Doubles:
        moved = [np.where(up, 1 + step, 1 - step) for up in is_up]
        for x, point in zip(xs, moved, strict=True):
            point *= x
        return flat(forward([point.astype(dtype, copy=False) for point in moved], dtype))

    def slope_at(step: float) -> Doubles:
        slope = at(step) - y  # an array of its own: that of f stays as it is
        slope /= step
        return slope

    with np.errstate(all="ignore"), suppress(Exception):
        y = at(0.0)
        finest, slope = slope_at(finer), slope_at(coarser)
        is_seen = np.any(slope)  # else rounding has hidden a whole step
        if not is_seen and smaller in HALF:
            return False
        unmoved = not np.any(finest)
        apart = np.linalg.norm(np.subtract(slope, finest, out=finest))
        del finest  # as large as y
        steep = slope_at(coarse)
        unmoved &= bool(np.any(steep))
        most = max(np.linalg.norm(slope), np.linalg.norm(steep))
        if not unmoved and not apart > 0.2 * most:
            return False
        opposite = slope_at(-coarser) if is_seen else slope_at(-coarse)
        opposite -= slope if is_seen else steep
        if np.linalg.norm(opposite) > 0.5 * most:
            return False
        del opposite
        slope -= slope_at(_PART * coarser) if is_seen else steep
        rounding = coarser * np.linalg.norm(slope)
        unit = core.unit_roundoff(own)
        least = max(np.linalg.norm(flat(native) - y), unit / 2 * np.linalg.norm(y))
        ratio = core.unit_roundoff(smaller) / unit
        return bool(rounding > 2.0**-8 * ratio * least)
    return False


def why_no_shadow(
    target: Target,
    native: Sequence[Array],
    xs: list[Array],
    narrowing: Callable[[Sequence[Array], list[Array], str], str],
    dtype: str = SHADOW,
) -> str:
    """Why a function of a smaller dtype has no form in `dtype`; "" if it has one.

    Args:
        target: The function.
        native: Its outputs in its own dtype.
        xs: The point, of `dtype`.
        narrowing: What in a run at `xs` is less than `dtype`, of (native, xs, dtype).
        dtype: The wider one.
    """
    try:
        ys = target.forward(xs, dtype)
        grads = target.vjp(xs, [np.ones_like(y) for y in ys], dtype)
        kinds = (
            ("it returns", {y.dtype.name for y in ys}),
            ("its gradient is", {a.dtype.name for a in grads}),
        )
        del grads  # as large as the point
        narrow = narrowing(native, xs, dtype)
    except Exception as error:  # whatever a framework raises for a dtype it does not know
        message = str(error).strip().partition("\n")[0]
        return f"it does not run in {dtype}: {type(error).__name__}: {message}"
    for what, names in kinds:
        if wrong := sorted(names - {dtype}):
            return f"{what} {wrong[0]} for {dtype} arguments"
    if another_function(native, ys, target.dtype):
        return another(dtype)
    return narrow
