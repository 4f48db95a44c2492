"""A program with everything floating made another element type: the same function, in its dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, numpy_dtype

_FLOATING_NUMBERS = frozenset(core.dtype_number(name) for name in FLOATING)
_SINGLE = frozenset({"float16", "bfloat16", "float32"})  # all calculate in float32
_CONSTANTS = frozenset({"fill_constant", "fill_any_like"})  # and then round to their own dtype


def cast_program(desc: core.ProgramDesc, dtype: str) -> None:
    """Makes every floating variable and attribute of a program, in all blocks, `dtype`.

    Numbers in attributes keep the value that they had in the old dtype: 0.1 in a float32 program is
    not 0.1 in float64, and the new program must calculate the same function.
    """
    blocks = [desc.block(index) for index in range(desc.num_blocks())]
    for block in blocks:
        for op in block.ops():
            for name, value in cast_attributes(op, _dtype_of(op, block), dtype).items():
                op.set_attr(name, value)
    for block in blocks:
        for var in block.all_vars():
            if var.dtype() in FLOATING:
                var.set_dtype(dtype)


def cast_attributes(op: core.OpDesc, before: str | None, dtype: str) -> dict[str, Any]:
    """The attributes that an operator must have in place of its own to calculate in `dtype`.

    Args:
        op: The operator.
        before: What it calculated in; None if nothing of it is floating.
        dtype: What it will calculate in.
    """
    changed: dict[str, Any] = {}
    for name, value in op.attrs().items():
        if name.endswith("dtype") and isinstance(value, int) and value in _FLOATING_NUMBERS:
            changed[name] = core.dtype_number(dtype)
        elif isinstance(value, float) and before is not None and before in _SINGLE:
            kept = float(np.float32(value))
            if op.type() in _CONSTANTS:
                kept = float(numpy_dtype(before).type(kept))
            if kept != value:
                changed[name] = kept
    return changed


def _dtype_of(op: core.OpDesc, block: core.BlockDesc) -> str | None:
    """What an operator calculates in: the dtype of its first floating variable."""
    for name in (*op.output_arg_names(), *op.input_arg_names()):
        var = None if name == core.EMPTY_VAR_NAME else block.find_var_recursive(name)
        if var is not None and var.dtype() in FLOATING:
            return var.dtype()
    return None
