"""Inputs and attributes of an operator that runs in another precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, dtype_number, numpy_dtype
from fluidcore.eager.notes import is_known
from fluidcore.eager.state import Precision, running
from fluidcore.eager.tensor import Tensor

_DTYPE_ATTRS = frozenset({"dtype", "in_dtype", "out_dtype"})
_FLOATING_NUMBERS = frozenset(core.dtype_number(name) for name in FLOATING)
_SINGLE = frozenset({"float16", "bfloat16", "float32"})  # operators on them calculate in float32
_CONSTANTS = frozenset({"fill_constant", "fill_any_like"})  # and then round to their own dtype


def converted(tensor: Tensor, dtype: str) -> Tensor:
    """The tensor in another floating element type, by an operator if it requires a gradient."""
    if tensor.dtype == dtype or tensor.dtype not in FLOATING:
        return tensor
    if not tensor.requires_grad and is_known(tensor.array):
        return Tensor.of(tensor.array.astype(numpy_dtype(dtype)))
    token = running.set(None)
    try:
        return tensor.astype(dtype)
    finally:
        running.reset(token)


def converted_attributes(
    op_type: str, attrs: Mapping[str, Any], precision: Precision
) -> dict[str, Any]:
    """The attributes in this precision: element types, and numbers as they were rounded."""
    return {name: _attribute(op_type, name, value, precision) for name, value in attrs.items()}


def _attribute(op_type: str, name: str, value: Any, precision: Precision) -> Any:
    if name in _DTYPE_ATTRS:
        number = dtype_number(value)
        return dtype_number(precision.dtype) if number in _FLOATING_NUMBERS else number
    if not isinstance(value, float) or precision.numbers not in _SINGLE:
        return value
    kept = float(np.float32(value))
    return float(numpy_dtype(precision.numbers).type(kept)) if op_type in _CONSTANTS else kept
