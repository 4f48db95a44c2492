"""Extents that are known only at run time, as tensors."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import layers
from fluidcore.onnx.reading.rules.common import append, reshaped
from fluidcore.onnx.reading.values import Number, Open
from fluidcore.program import Variable


def ones(extent: Open, dtype: str) -> Variable:
    """So many ones."""
    return layers.fill_constant_batch_size_like(extent.source, [1], dtype, 1, extent.axis)


def reshaped_open(x: Variable, extents: Sequence[Number]) -> Variable:
    """The elements of x in another shape; of one extent nothing need be known."""
    known = [extent if isinstance(extent, int) else -1 for extent in extents]
    if known.count(-1) <= 1:
        return reshaped(x, known)
    return append("reshape", {"X": x, "Shape": _at_run_time(extents)}, {"shape": known})


def _at_run_time(extents: Sequence[Number]) -> Variable:
    """The extents, int64; -1 for one of which nothing is known."""
    parts = []
    for extent in extents:
        if isinstance(extent, Open):
            attrs = {"dim": [0], "keep_dim": True}
            parts.append(append("reduce_sum", {"X": ones(extent, "int64")}, attrs))
        else:
            parts.append(layers.fill_constant([1], "int64", -1 if extent is None else extent))
    return append("concat", {"X": parts}, {"axis": 0})
