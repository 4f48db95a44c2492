"""Whether a gradient has the digits of its dtype, or went through a narrower one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.measure.judge import Reference
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.target.precision import TINY, UNIT
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict

_NARROWER = {  # most numbers of the first are numbers of the next, too
    "float64": ("bfloat16", "float16", "float32"),
    "float32": ("bfloat16", "float16"),
}
_FEWEST = 4  # elements that could not all lose their digits by chance
_UNITS = 16.0


def narrowed_to(
    claimed: Doubles,
    reference: Reference,
    dtype: str,
    bars: float,
    uncertain: Callable[[], Doubles] | None = None,
) -> str | None:
    """The narrower dtype that every element is a number of, though some should not be.

    An element should not be one where the reference is further from the nearest such number than
    its error bar and a few rounding units of `dtype` allow.

    Args:
        claimed: [r, n].
        reference: What it is compared with, [r, n].
        dtype: Of the gradient code.
        bars: How many error bars the truth may be off.
        uncertain: By how much elements may be off for want of digits of what they are made from,
            [r, n]; asked only when there is a suspicion.
    """
    if not np.isfinite(claimed).all():
        return None
    allowed = bars * reference.error + _UNITS * UNIT[dtype] * reference.padded_scale + TINY[dtype]
    for narrow in _NARROWER.get(dtype, ()):
        if not np.array_equal(_rounded(claimed, narrow), claimed):
            continue
        with np.errstate(invalid="ignore"):
            apart = np.abs(_rounded(reference.value, narrow) - reference.value)
        telling = (apart > allowed) & (claimed != 0) & (reference.flags == 0)
        if uncertain is not None and np.count_nonzero(telling) >= _FEWEST:
            telling &= apart > uncertain()
        if np.count_nonzero(telling) >= _FEWEST:
            return narrow
    return None


def with_digits(
    result: GradCheckResult,
    claimed: Doubles,
    reference: Reference,
    bars: float,
    uncertain: Callable[[], Doubles] | None = None,
) -> GradCheckResult:
    """The result, or FAIL where the gradient was rounded through a narrower dtype."""
    narrow = narrowed_to(claimed, reference, result.dtype, bars, uncertain)
    if narrow is None:
        return result
    detail = f"every element is a number of {narrow}, though the gradient is not"
    return replace(
        result,
        verdict=Verdict.FAIL,
        reasons=(Reason.NARROWED, *(result.reasons if result.verdict is Verdict.FAIL else ())),
        detail="; ".join(text for text in (detail, result.detail) if text),
    )


def _rounded(values: Doubles, dtype: str) -> Doubles:
    with np.errstate(over="ignore", invalid="ignore"):
        narrow: Doubles = values.astype(numpy_dtype(dtype)).astype(np.float64)
    return narrow
