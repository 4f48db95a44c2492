"""Sequences of tensors, whose lengths must be known while the model is read."""

from __future__ import annotations

import numpy as np

from fluidcore import layers
from fluidcore.onnx.reading.node import Node, constant
from fluidcore.onnx.reading.rules.common import Result, Rules, append
from fluidcore.onnx.reading.values import Items, Value


def _items(node: Node, index: int) -> list[Value]:
    value = node.value(index)
    if not isinstance(value, Items):
        raise node.refuse(f"input {index} must be a sequence", "a tensor")
    return list(value.values)


def _position(node: Node, index: int, count: int) -> int:
    """A place in a sequence, counted from the front."""
    position = int(node.number(index))
    if not -count <= position < count:
        raise node.refuse(f"the position must be in a sequence of {count}", position)
    return position % count


def empty(node: Node) -> Result:
    """A sequence of nothing."""
    node.ignore("dtype")
    return Items(())


def construct(node: Node) -> Result:
    """The inputs."""
    return Items(tuple(node.value(i) for i in range(node.num_inputs)))


def insert(node: Node) -> Result:
    """A sequence with one more, at its end or before a position."""
    items = _items(node, 0)
    at = len(items)
    if node.has(2) and int(node.number(2)) != len(items):
        at = _position(node, 2, len(items))
    return Items((*items[:at], node.value(1), *items[at:]))


def erase(node: Node) -> Result:
    """A sequence without one, the last if nothing else is said."""
    items = _items(node, 0)
    at = _position(node, 1, len(items)) if node.has(1) else len(items) - 1
    return Items((*items[:at], *items[at + 1 :]))


def at(node: Node) -> Result:
    """One of a sequence."""
    items = _items(node, 0)
    return items[_position(node, 1, len(items))]


def length(node: Node) -> Result:
    """How many there are."""
    return constant(len(_items(node, 0)), np.int64)


def split(node: Node) -> Result:
    """The parts of a tensor along an axis."""
    x = node.var(0)
    axis = node.axis("axis", len(x.shape))
    extent = x.shape[axis]
    if extent < 0:
        raise node.refuse("the extent along the axis must be known", list(x.shape))
    keep = node.flag("keepdims") or node.has(1)
    sections = [1] * extent
    if node.has(1):
        sections = node.ints(1)
        if node.constant(1).ndim == 0:
            whole, rest = divmod(extent, max(sections[0], 1))
            sections = [sections[0]] * whole + [rest] * (rest > 0)
    if not sections:
        return Items(())
    parts = layers.split(x, sections, dim=axis)
    if not keep:
        parts = [append("squeeze", {"X": part}, {"axes": [axis]}) for part in parts]
    return Items(tuple(parts))


def concat(node: Node) -> Result:
    """Those of a sequence one after the other, or along a new axis."""
    parts = [node.as_variable(value) for value in _items(node, 0)]
    if not parts:
        raise node.refuse("the sequence must not be empty", "one of nothing")
    rank = len(parts[0].shape)
    if node.flag("new_axis"):
        axis = node.axis("axis", rank + 1)
        return append("stack", {"X": parts}, {"axis": axis}, out="Y")
    return append("concat", {"X": parts}, {"axis": node.axis("axis", rank)})


RULES: Rules = {
    "ConcatFromSequence": concat,
    "SequenceAt": at,
    "SequenceConstruct": construct,
    "SequenceEmpty": empty,
    "SequenceErase": erase,
    "SequenceInsert": insert,
    "SequenceLength": length,
    "SplitToSequence": split,
}
