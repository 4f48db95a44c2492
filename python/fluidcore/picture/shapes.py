"""The shapes of a program at a batch size: extents that it leaves open get a number."""

from __future__ import annotations

import contextlib
import math

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.picture.graph import MAX_DEPTH, inner_blocks


def at_batch(program: core.ProgramDesc, batch: int) -> core.ProgramDesc:
    """A copy in which no extent is open.

    The open extents of data become the batch size, and the shapes of what is calculated from them
    are inferred again, block by block; what stays open after that becomes the batch size, too.
    """
    copy = program.clone()
    for index in range(copy.num_blocks()):
        for variable in copy.block(index).all_vars():
            if variable.is_data() or index > 0:
                _close(variable, batch)
    _infer(copy, 0, batch, set(), 0)
    for index in range(copy.num_blocks()):
        for variable in copy.block(index).all_vars():
            _close(variable, batch)
    return copy


def elements(variable: core.VarDesc) -> int:
    """How many elements a variable of known extents has; 0 for a tensor array."""
    return 0 if variable.type() == "lod_tensor_array" else math.prod(variable.shape())


def size(variable: core.VarDesc) -> int:
    """How many bytes they take."""
    return elements(variable) * numpy_dtype(variable.dtype()).itemsize


def _infer(program: core.ProgramDesc, index: int, batch: int, seen: set[int], depth: int) -> None:
    block = program.block(index)
    seen.add(index)
    for op in block.ops():
        for inner in inner_blocks(op):
            known = 0 <= inner < program.num_blocks() and inner not in seen
            if known and depth < MAX_DEPTH:
                _infer(program, inner, batch, seen, depth + 1)
        with contextlib.suppress(core.Error):  # what depends on data keeps the batch size
            op.infer_shape(block)
        for name in op.output_arg_names():
            written = block.find_var(name)
            if written is not None:
                _close(written, batch)


def _close(variable: core.VarDesc, batch: int) -> None:
    shape = variable.shape()
    if -1 in shape:
        variable.set_shape([batch if extent < 0 else extent for extent in shape])
