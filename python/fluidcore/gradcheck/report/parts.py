"""Formula and kernel, judged apart where a gradient can be calculated in a wider dtype."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from fluidcore.gradcheck.report.data import ResultData
from fluidcore.gradcheck.target.precision import UNIT


class Part(Enum):
    """What of a gradient a result is about; the values are the names in reports."""

    WHOLE = ""
    FORMULA = "formula"  # in the wider dtype, against the numerical derivative
    KERNEL = "kernel"  # of a narrower dtype, against the formula

    def of(self, dtype: str) -> str:
        """The part with its dtype, for example "kernel (float32)"."""
        return f"{self.value} ({dtype})" if self.value else dtype

    @property
    def reference(self) -> str:
        """What the gradient is compared with."""
        return "formula" if self is Part.KERNEL else "numerical"


def part_of(result: ResultData, results: Iterable[ResultData]) -> Part:
    """What a result among those of its report is about."""
    dtypes = {other.dtype for other in results if other.name == result.name}
    if len(dtypes) == 1:
        return Part.WHOLE
    return Part.FORMULA if result.dtype == min(dtypes, key=UNIT.__getitem__) else Part.KERNEL
