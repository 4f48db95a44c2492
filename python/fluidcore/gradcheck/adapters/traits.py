"""Which operators of fluidcore calculate element by element, or row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

_ELEMENTWISE = frozenset(
    {
        *("abs", "assign", "cast", "clip", "cos", "dropout", "erf", "exp", "gelu", "log", "relu"),
        *("scale", "sigmoid", "sin", "sign", "sqrt", "square", "sum", "tanh"),
        *("elementwise_add", "elementwise_div", "elementwise_floordiv", "elementwise_max"),
        *("elementwise_min", "elementwise_mul", "elementwise_pow", "elementwise_sub"),
    }
)
_LAST_AXIS = frozenset({"softmax", "cross_entropy", "softmax_with_cross_entropy", "top_k"})
_ROW_INPUTS = frozenset({"X", "Logits", "Label"})


def rows_of(
    op_type: str, slot: str, shapes: Mapping[str, Sequence[tuple[int, ...]]], attrs: Any
) -> int:
    """How many rows of an input are independent of each other; 0: nothing is known.

    What this claims is checked where it is used.

    Args:
        op_type: The operator.
        slot: The slot of the input.
        shapes: Slot -> the shapes of its variables.
        attrs: The operator's attributes.
    """
    shape = shapes[slot][0]
    if op_type in _ELEMENTWISE:
        alike = all(other == shape for group in shapes.values() for other in group)
        return math.prod(shape) if alike else 0
    if op_type in _LAST_AXIS and slot in _ROW_INPUTS:
        return math.prod(shape[:-1])
    if op_type in ("reduce_sum", "reduce_mean", "reduce_max"):
        dim = attrs.get("dim", 0)
        axes = dim if isinstance(dim, (list, tuple)) else [dim]
        is_last = [*axes] in ([-1], [len(shape) - 1]) and not attrs.get("reduce_all", False)
        return math.prod(shape[:-1]) if is_last and shape else 0
    if op_type == "mul" and slot == "X":
        return math.prod(shape[: attrs.get("x_num_col_dims", 1)])
    return 0
