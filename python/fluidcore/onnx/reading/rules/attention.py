"""Attention: by one operator where that does all that is asked for, else by its definition."""

from __future__ import annotations

import math

from fluidcore import layers
from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.rules.common import Result, Rules, append, reshaped, transposed
from fluidcore.program import Variable

_QUERIES, _KEYS, _VALUES, _MASK = range(4)


def attention(node: Node) -> Result | None:
    """Softmax(scale Q K^T + mask) V; what sees no key is 0.

    Scores as a result, scores that are bent, keys of earlier calls and windows are left to the
    definition.
    """
    if not _is_plain(node):
        return None
    node.ignore("qk_matmul_output_mode", "softmax_precision")
    counts = [node.attr(f"{of}_num_heads", 0) for of in ("q", "kv", "kv")]
    is_flat = len(node.shape(_QUERIES)) == 3
    parts = [_heads(node, i, count) if is_flat else node.var(i) for i, count in enumerate(counts)]
    query, key, value = parts
    scale = float(node.attr("scale", 0.0)) or 1.0 / math.sqrt(query.shape[3])
    groups = query.shape[1] // key.shape[1]
    attrs = {"causal": node.flag("is_causal"), "scale": scale}
    inputs_of_op = {"Q": query, "K": _repeated(key, groups), "V": _repeated(value, groups)}
    if node.has(_MASK):
        inputs_of_op["Mask"] = _mask(node, query)
    out = append("scaled_dot_product_attention", inputs_of_op, attrs)
    if not is_flat:
        return out
    heads, length, depth = out.shape[1:]
    return reshaped(transposed(out, [0, 2, 1, 3]), [-1, length, heads * depth])


def _is_plain(node: Node) -> bool:
    """Whether the operator of fluidcore does all that is asked for."""
    inputs = [node.has(i) for i in range(4, 7)]
    outputs = [node.wants(i) for i in range(1, 4)]
    windows = [node.attr(f"{side}_window_size", -1) for side in ("left", "right")]
    if any((*inputs, *outputs, node.attr("softcap"))) or windows != [-1, -1]:
        return False
    shapes = [node.shape(i) for i in (_QUERIES, _KEYS, _VALUES)]
    if {len(shape) for shape in shapes} not in ({3}, {4}) or any(-1 in s[1:] for s in shapes):
        return False
    queries, keys = shapes[_QUERIES][-2], shapes[_KEYS][-2]
    if node.flag("is_causal") and queries != keys:
        return False
    return not node.has(_MASK) or node.shape(_MASK)[-1:] == (keys,)


def _heads(node: Node, index: int, count: int) -> Variable:
    """[batch, length, heads depth] as [batch, heads, length, depth]."""
    x = node.var(index)
    width = x.shape[2]
    if count < 1 or width % count:
        raise node.refuse(f"input {index} must have extents for {count} heads", list(x.shape))
    return transposed(reshaped(x, [-1, x.shape[1], count, width // count]), [0, 2, 1, 3])


def _repeated(x: Variable, times: int) -> Variable:
    """Each head as often as there are queries for it."""
    if times == 1:
        return x
    heads, length, depth = x.shape[1:]
    copies = append("unsqueeze", {"X": x}, {"axes": [2]})
    copies = append("expand", {"X": copies}, {"expand_times": [1, 1, times, 1, 1]})
    return reshaped(copies, [-1, heads * times, length, depth])


def _mask(node: Node, query: Variable) -> Variable:
    """What is added to the scores."""
    mask = node.var(_MASK)
    if mask.dtype != "bool":
        return mask
    nothing = layers.fill_constant([], query.dtype, 0.0)
    never = layers.fill_constant([], query.dtype, -math.inf)
    return layers.where(mask, nothing, never)


RULES: Rules = {"Attention": attention}
