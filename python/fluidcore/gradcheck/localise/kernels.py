"""Gradient kernels of a dtype against those of float64, on the values of a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck.localise.blame import Blame
from fluidcore.gradcheck.localise.observed import Observed
from fluidcore.gradcheck.localise.operator_run import as_double, in_dtype, run_one
from fluidcore.gradcheck.program.places import inner_block
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles
from fluidcore.gradcheck.verdict import Reason

_COPIES = 8
_SPREAD = 4.0  # standard deviations
_ROUNDING = 16.0  # units of the largest element


def first_wrong_kernel(seen: Observed, forward: frozenset[str], seed: int) -> Blame | None:
    """The first gradient operator whose kernel is not that of float64, rounded.

    Rounding errors have another sign at every nearby point, an error of the kernel has not: the
    mean of the differences at some of these must be within their spread.
    """
    for name in seen.where:
        op = seen.ops.get(name)
        if op is None or name in forward or inner_block(op) is not None:
            continue
        runs = seen.runs(name)
        for run in {0, runs - 1} if runs else ():
            values = seen.before(name, op.input_arg_names(), run)
            try:
                wrong = _differs(op, values, seed)
            except (core.Error, KeyError):
                continue  # an array, or nothing to calculate with
            if wrong is not None:
                variable, by, largest = wrong
                slot = next(s for s, names in op.outputs().items() if variable in names)
                off = (
                    f"{by / largest:.3g} of its largest element" if largest else f"{by:.3g}, not 0"
                )
                detail = f"'{variable}' is off by {off}, beyond rounding"
                return Blame(name, op.type(), slot, variable, Reason.KERNEL, detail)
    return None


@np.errstate(invalid="ignore", over="ignore")
def _differs(
    op: core.OpDesc, values: Mapping[str, Array], seed: int
) -> tuple[str, float, float] | None:
    """A variable that the two dtypes calculate differently, how much it is off, and its size."""
    dtypes = {value.dtype.name for value in values.values()} & FLOATING
    if len(dtypes) != 1:
        return None
    dtype = dtypes.pop()
    unit = core.unit_roundoff(dtype)
    double = in_dtype(op, dtype, SHADOW)
    differences: dict[str, list[Doubles]] = {}
    sizes: dict[str, float] = {}
    for copy in range(_COPIES + 1):
        near = {name: _near(v, name, seed, copy, unit) for name, v in values.items()}
        rough = run_one(op, near)
        exact = run_one(double, {name: as_double(value) for name, value in near.items()})
        for name, value in rough.items():
            if value.dtype.name in FLOATING:
                difference = as_double(value) - exact[name]
                differences.setdefault(name, []).append(difference)
                largest = np.max(np.abs(exact[name]), initial=sizes.get(name, 0.0))
                sizes[name] = float(largest)
    for name, found in differences.items():
        stack = np.stack(found)
        bias, spread = np.abs(stack.mean(axis=0)), stack.std(axis=0, ddof=1)
        limit = _SPREAD * spread + _ROUNDING * unit * sizes[name]
        if not np.all(bias <= limit) and np.all(np.isfinite(list(sizes.values()))):
            worst = float(np.max(np.where(np.isfinite(bias), bias, np.inf)))
            return name, worst, sizes[name]
    return None


def _near(value: Array, name: str, seed: int, copy: int, unit: float) -> Array:
    if copy == 0 or value.dtype.name not in FLOATING:
        return value
    noise = stream(seed, f"{name} {copy}", "dither").uniform(-1.0, 1.0, value.shape)
    near: Array = (value.astype(np.float64) * (1.0 + np.sqrt(unit) * noise)).astype(value.dtype)
    return near
