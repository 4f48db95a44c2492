"""Reductions: sums, means, extremes, norms, and where extremes are."""

from __future__ import annotations

import math
from collections.abc import Callable

from fluidcore import layers
from fluidcore.base.dtypes import FLOATING
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import Result, Rule, Rules, append, binary, number_like
from fluidcore.program import Variable

# operator -> the opset from which its axes are an input
_AXES_AS_INPUT = {"ReduceSum": 13}
_SINCE = 18


def _axes(node: Node, rank: int) -> list[int] | None:
    """The dimensions to reduce; None for none at all."""
    axes: list[int] = []
    if node.opset >= _AXES_AS_INPUT.get(node.op_type, _SINCE):
        if node.has(1):
            axes = node.ints(1)
    else:
        axes = list(node.attr("axes", []))
    if not axes:
        if node.attr("noop_with_empty_axes", 0):
            return None
        axes = list(range(rank))
    return sorted(node.dimensions(axes, rank))


def reduced(op_type: str, x: Variable, axes: list[int], keep: bool) -> Variable:
    """A reduction over dimensions; all of them give a single number."""
    if not x.shape:
        return layers.reshape(_append(op_type, layers.reshape(x, [1]), [0], keep=False), [])
    if keep or len(axes) < len(x.shape):
        return _append(op_type, x, axes, keep)
    return layers.reshape(_append(op_type, x, axes, keep=False), [])


def _append(op_type: str, x: Variable, axes: list[int], keep: bool) -> Variable:
    every = len(axes) == len(x.shape) and not keep
    attrs = {"reduce_all": True} if every else {"dim": axes, "keep_dim": keep}
    return append(op_type, {"X": x}, attrs)


def _same(x: Variable) -> Variable:
    return x


def _reduction(
    op_type: str,
    before: Callable[[Variable], Variable] = _same,
    after: Callable[[Variable], Variable] = _same,
) -> Callable[[Node], Result]:
    def rule(node: Node) -> Result:
        node.ignore("keepdims", "noop_with_empty_axes")
        x = node.var(0)
        axes = _axes(node, len(x.shape))
        if axes is None and (before is _same and after is _same):
            return append("assign", {"X": x})
        inner = before(x)
        kept = inner if axes is None else reduced(op_type, inner, axes, node.flag("keepdims"))
        return after(kept)

    return rule


def _abs(x: Variable) -> Variable:
    return append("abs", {"X": x})


def _square(x: Variable) -> Variable:
    return append("square", {"X": x})


def _sqrt(x: Variable) -> Variable:
    return append("sqrt", {"X": x})


def _log(x: Variable) -> Variable:
    return append("log", {"X": x})


def _extreme(op_type: str, of_bools: str) -> Rule:
    """A maximum or minimum; of truths whether any, or all, are true."""
    rules = {"bool": _reduction(of_bools)}

    def rule(node: Node) -> Result:
        shape = node.shape(0)
        if 0 in shape:
            return _of_nothing(node, math.inf if op_type == "reduce_min" else -math.inf)
        return rules.get(node.var(0).dtype, _reduction(op_type))(node)

    return rule


def _of_nothing(node: Node, limit: float) -> Result:
    """The extreme of no elements, infinite."""
    shape = list(node.known_shape(0))
    axes = _axes(node, len(shape)) or []
    dtype = node.var(0).dtype
    if dtype not in FLOATING or any(n == 0 and i not in axes for i, n in enumerate(shape)):
        raise node.refuse("the input must not be empty", shape)
    keep = node.flag("keepdims")
    left = [1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes]
    return layers.fill_constant(left, dtype, limit)


def _where_extreme(op_type: str) -> Rule:
    def rule(node: Node) -> Result:
        x = node.var(0)
        if not x.shape:
            raise node.refuse("the input must have a dimension", "a single number")
        axis = node.axis("axis", len(x.shape))
        keep = node.flag("keepdims")
        if not node.attr("select_last_index", 0):
            return append(op_type, {"X": x}, {"axis": axis, "keepdims": keep})
        extent = x.shape[axis]
        if extent < 0:
            raise node.refuse("the extent along the axis must be known", list(x.shape))
        turned = append("flip", {"X": x}, {"axis": [axis]})
        found = append(op_type, {"X": turned}, {"axis": axis, "keepdims": keep})
        last = layers.fill_constant([], "int64", extent - 1)
        return binary("elementwise_sub", last, found)

    return rule


def lp_normalization(node: Node) -> Result:
    """X by its norm along one axis; 0 where that is 0."""
    x = node.var(0)
    axis = node.axis("axis", len(x.shape))
    return append("elementwise_div", {"X": x, "Y": lp_norm(node, x, [axis], of_nothing=1.0)})


def lp_norm(node: Node, x: Variable, axes: list[int], of_nothing: float | None = None) -> Variable:
    """The 1-norm or 2-norm over dimensions, which stay.

    Args:
        node: The node, whose attribute is p.
        x: Any shape.
        axes: The dimensions.
        of_nothing: What stands for a norm of 0. It does so before the root is taken, whose gradient
            would be infinite there.
    """
    node.only("p", 1, 2)
    powers = _abs(x) if node.attr("p") == 1 else _square(x)
    total = reduced("reduce_sum", powers, axes, keep=True)
    if of_nothing is not None:
        is_zero = layers.equal(total, number_like(total, 0.0))
        total = layers.where(is_zero, number_like(total, of_nothing), total)
    return total if node.attr("p") == 1 else _sqrt(total)


def global_pool(kind: str) -> Rule:
    """The mean or maximum of each channel."""

    def rule(node: Node) -> Result:
        x = node.var(0)
        return reduced(kind, x, list(range(2, len(x.shape))), keep=True)

    return rule


RULES: Rules = {
    "ArgMax": _where_extreme("argmax"),
    "ArgMin": _where_extreme("argmin"),
    "GlobalAveragePool": global_pool("reduce_mean"),
    "GlobalMaxPool": global_pool("reduce_max"),
    "LpNormalization": lp_normalization,
    "ReduceL1": _reduction("reduce_sum", before=_abs),
    "ReduceL2": _reduction("reduce_sum", before=_square, after=_sqrt),
    "ReduceLogSum": _reduction("reduce_sum", after=_log),
    "ReduceLogSumExp": _reduction("logsumexp"),
    "ReduceMax": _extreme("reduce_max", "reduce_any"),
    "ReduceMean": _reduction("reduce_mean"),
    "ReduceMin": _extreme("reduce_min", "reduce_all"),
    "ReduceProd": _reduction("reduce_prod"),
    "ReduceSum": _reduction("reduce_sum"),
    "ReduceSumSquare": _reduction("reduce_sum", before=_square),
}
