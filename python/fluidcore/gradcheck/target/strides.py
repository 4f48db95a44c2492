"""Arrays whose elements are not one after the other in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluidcore.gradcheck.target.target import Array


def strided(array: Array, strides: Sequence[int]) -> Array:
    """A copy with other strides.

    Args:
        array: Of any shape.
        strides: In bytes. Where one is 0, the elements along it must be equal.
    """
    if array.size == 0:
        return array.copy()
    item = array.itemsize
    reach = [(n - 1) * s // item for n, s in zip(array.shape, strides, strict=True)]
    first = -sum(r for r in reach if r < 0)
    memory = np.zeros(first + 1 + sum(r for r in reach if r > 0), array.dtype)
    copy: Array = np.ndarray(array.shape, array.dtype, memory, first * item, strides)
    copy[...] = array
    return copy


def same_strides(array: Array) -> Array:
    """A copy with the strides of the array."""
    is_plain = array.flags.c_contiguous
    return np.array(array) if is_plain else strided(array, array.strides)


def with_gaps(array: Array) -> Array:
    """A copy, transposed in memory and not contiguous in any order."""
    steps = 2 * array.itemsize * np.cumprod([1, *array.shape[:-1]])
    return strided(array, [int(step) for step in steps[: array.ndim]])
