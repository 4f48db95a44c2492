"""Floating-point operations of operators, from shapes alone.

The same counts that the profiler gives for a run: of products, convolutions and attention, a
product and its addition counted as two. Other operators count as none, as there: they are about
memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from fluidcore import core

Shapes = Mapping[str, Sequence[int]]  # by slot, of its first variable


def flops(op: core.OpDesc, shapes: Shapes) -> int:
    """What one run of an operator calculates.

    Args:
        op: The operator; outputs that are left out do not count.
        shapes: Those of its inputs and outputs by slot, all extents known.

    Returns:
        The number of operations; 0 where they are not counted.
    """
    op_type = op.type()
    wanted = sum(name != core.EMPTY_VAR_NAME for name in op.output_arg_names())
    attention = _ATTENTION.get(op_type)
    try:
        if attention is not None:
            return _attention(shapes, *attention)
        pairs = _PAIRS.get(op_type)
        return 2 * wanted * pairs(op, shapes) if pairs is not None else 0
    except LookupError:  # of a program that cannot be run
        return 0


def _mul(op: core.OpDesc, shapes: Shapes) -> int:
    y_columns = shapes["Y"][op.attr("y_num_col_dims") :]
    return math.prod(shapes["X"]) * math.prod(y_columns)


def _matmul(op: core.OpDesc, shapes: Shapes) -> int:
    out = shapes["Out"] if "Out" in shapes else shapes["Out@GRAD"]
    x = shapes["X"]
    transposed = op.attr("transpose_X")
    depth = (1 if transposed else x[0]) if len(x) == 1 else x[-2 if transposed else -1]
    return math.prod(out) * depth


def _conv(op: core.OpDesc, shapes: Shapes) -> int:
    out = shapes["Output"] if "Output" in shapes else shapes["Output@GRAD"]
    return math.prod(out) * math.prod(shapes["Filter"][1:])


def _conv_transpose(op: core.OpDesc, shapes: Shapes) -> int:
    return math.prod(shapes["Input"]) * math.prod(shapes["Filter"][1:])


def _attention(shapes: Shapes, of_depth: int, of_value_depth: int) -> int:
    q, k, v = shapes["Q"], shapes["K"], shapes["V"]
    scores = math.prod(q[:3]) * k[2]
    return 2 * scores * (of_depth * q[3] + of_value_depth * v[3])


_ATTENTION = {
    "scaled_dot_product_attention": (1, 1),
    "scaled_dot_product_attention_grad": (3, 2),
}
_FORWARD: dict[str, Callable[[core.OpDesc, Shapes], int]] = {
    "mul": _mul,
    "matmul": _matmul,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "depthwise_conv2d"), _conv),
    **{f"conv{axes}d_transpose": _conv_transpose for axes in (1, 2, 3)},
}
_PAIRS = _FORWARD | {f"{op_type}_grad": pairs for op_type, pairs in _FORWARD.items()}
