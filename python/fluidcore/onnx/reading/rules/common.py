"""What rules share: operators by name, and extents of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from fluidcore import layers
from fluidcore.base.dtypes import FLOATING
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.values import Value
from fluidcore.program import Variable, default_main_program
from fluidcore.program.arguments import Argument

Result: TypeAlias = "Value | Sequence[Value | None]"
Rule: TypeAlias = Callable[[Node], "Result | None"]  # None: by the definition of the operator
Rules: TypeAlias = dict[str, Rule]


def append(
    op_type: str,
    inputs: Mapping[str, Argument],
    attrs: Mapping[str, Any] | None = None,
    out: str = "Out",
) -> Variable:
    """Appends an operator to the current block; its result is a new variable."""
    block = default_main_program().current_block()
    return block.append_single(op_type, inputs, attrs, out=out, key=op_type)


def binary(op_type: str, x: Variable, y: Variable) -> Variable:
    """An elementwise operator of two inputs that broadcast as in NumPy.

    fluidcore takes a [1] for a single number; where ONNX gives it its dimension, the result gets
    one.
    """
    rank = max(len(x.shape), len(y.shape))
    out = append(op_type, {"X": x, "Y": y})
    return out if len(out.shape) == rank else layers.reshape(out, [1] * rank)


def broadcast(op_type: str, node: Node) -> Variable:
    """An elementwise operator of the two inputs of a node.

    Before opset 7 only the second was broadcast, where an attribute said so, from an axis on.
    """
    x, y = node.var(0), node.var(1)
    if node.opset >= 7 or not node.attr("broadcast", 0):
        return binary(op_type, x, y)
    axis = node.attr("axis", None)
    if axis is None:
        return binary(op_type, x, y)
    return append(op_type, {"X": x, "Y": y}, {"axis": node.dimension(axis, len(x.shape))})


def number_like(x: Variable, value: float) -> Variable:
    """A single number of the dtype of x."""
    return layers.fill_constant([], x.dtype, value)


def scaled(x: Variable, factor: float) -> Variable:
    """X times a number."""
    return x if factor == 1.0 else append("scale", {"X": x}, {"scale": float(factor)})


def negated(x: Variable) -> Variable:
    """-x; of integers exactly, which `scale` is not beyond 2^53."""
    if is_floating(x):
        return scaled(x, -1.0)
    return binary("elementwise_sub", number_like(x, 0), x)


def is_floating(x: Variable) -> bool:
    """Whether the elements are floating."""
    return x.dtype in FLOATING


def reshaped(x: Variable, shape: Sequence[int]) -> Variable:
    """The elements of x in another shape, in which a 0 is an extent and no copy of one."""
    return append("reshape", {"X": x}, {"shape": list(shape)})


def transposed(x: Variable, perm: Sequence[int]) -> Variable:
    """X with its dimensions in another order."""
    return x if list(perm) == list(range(len(perm))) else layers.transpose(x, list(perm))


def axis_last(rank: int, axis: int) -> list[int]:
    """The order of dimensions that exchanges `axis` and the last one; its own inverse."""
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return perm
