"""Extents and shapes, of which some are known only when a model runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.onnx.writing.graph import Value, constant
from fluidcore.onnx.writing.operator import Op

Extent: TypeAlias = "int | Value"  # known, or an int64 [1]
_MOST = 1024  # elements of a constant that could be calculated


def extent(op: Op, x: Value, axis: int) -> Extent:
    """One extent of a value."""
    assert x.shape is not None
    axis %= len(x.shape)
    known = x.shape[axis]
    return known if known >= 0 else op.emit("Shape", x, start=axis, end=axis + 1)


def as_extent_value(known_or_not: Extent) -> Value:
    """An extent as int64 [1]."""
    return known_or_not if isinstance(known_or_not, Value) else constant([known_or_not], "int64")


def extents(op: Op, x: Value, start: int = 0, end: int | None = None) -> list[Extent]:
    """The extents from one dimension to before another."""
    return [extent(op, x, axis) for axis in range(x.rank)[start:end]]


def no_extents() -> Value:
    """The shape of a single number."""
    return constant(np.zeros(0, np.int64))


def as_value(op: Op, shape: Sequence[Extent]) -> Value | list[int]:
    """A shape as an input of a node, int64 [rank]."""
    known = [each for each in shape if isinstance(each, int)]
    if len(known) == len(shape):
        return known or no_extents()
    if len(shape) == 1 and isinstance(shape[0], Value):
        return shape[0]
    parts = [np.array([each]) if isinstance(each, int) else each for each in shape]
    return op.emit("Concat", *parts, axis=0)


def reshaped(op: Op, x: Value, shape: Sequence[Extent]) -> Value:
    """The elements in another shape."""
    unknown = [i for i, each in enumerate(shape) if isinstance(each, Value)]
    has_zero = 0 in [each for each in shape if isinstance(each, int)]
    if len(unknown) == 1 and not has_zero:
        target: Value | list[int] = [-1 if isinstance(each, Value) else each for each in shape]
    else:
        target = as_value(op, shape)
    made = op.emit("Reshape", x, target, **({"allowzero": 1} if has_zero else {}))
    made.shape = tuple(-1 if isinstance(each, Value) else each for each in shape)
    return made


def product(op: Op, shape: Sequence[Extent]) -> Extent:
    """The product of extents."""
    known = 1
    unknown: Value | None = None
    for each in shape:
        if isinstance(each, int):
            known *= each
        else:
            unknown = each if unknown is None else op.emit("Mul", unknown, each)
    if unknown is None:
        return known
    return unknown if known == 1 else op.emit("Mul", unknown, known)


def matrix(op: Op, x: Value, num_rows: int) -> Value:
    """The value as a matrix, whose rows are the first dimensions; a number is [1, 1]."""
    assert x.shape is not None
    if x.rank == 2 and num_rows == 1:
        return x
    if x.rank and 0 not in x.shape:
        made = op.emit("Flatten", x, axis=num_rows)
        made.shape = (-1, -1)
        return made
    sides = [*extents(op, x)[:num_rows], 1], [*extents(op, x)[num_rows:], 1]
    return reshaped(op, x, [product(op, side) for side in sides])


def lifted(op: Op, x: Value) -> Value:
    """The value; [1] of a single number."""
    return x if x.rank else reshaped(op, x, [1])


def lowered(op: Op, x: Value, rank: int) -> Value:
    """What `lifted` made of a value of this rank, as it was."""
    return x if rank else reshaped(op, x, [])


def transposed(op: Op, x: Value, perm: Sequence[int]) -> Value:
    """The value with permuted dimensions."""
    made = op.emit("Transpose", x, perm=list(perm)) if perm else op.emit("Identity", x)
    if x.shape is not None:
        made.shape = tuple(x.shape[axis] for axis in perm)
    return made


def filled(op: Op, shape: Sequence[Extent], dtype: str, value: float) -> Value:
    """The same number everywhere."""
    number = np.array([value], numpy_dtype(dtype))
    known = [each for each in shape if isinstance(each, int)]
    if len(known) == len(shape) and math.prod(known) <= _MOST:
        return constant(np.full(known, number[0]))
    made = op.emit("ConstantOfShape", as_value(op, shape), value=number)
    made.shape = tuple(-1 if isinstance(each, Value) else each for each in shape)
    return made
