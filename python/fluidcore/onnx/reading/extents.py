"""What calculates with extents of which some are known only at run time.

A model that asks for the shape of a tensor with a batch of any size does so to reshape with it
later. These rules follow such numbers as far as that; each returns None where it cannot.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fluidcore.onnx.reading.node import Node
from fluidcore.onnx.reading.tensors import element_type
from fluidcore.onnx.reading.values import Constant, Extents, Number, Open, Value, dtype_of

ExtentRule = Callable[[Node], "Value | None"]


def known_extents(value: Value) -> Value:
    """A constant, where all of the numbers are known after all."""
    if not isinstance(value, Extents) or not all(isinstance(n, int) for n in value.numbers):
        return value
    array = np.array(value.numbers, value.dtype)
    return Constant(array.reshape(()) if value.is_scalar else array)


def _numbers(value: Value | None) -> list[Number] | None:
    """The numbers of a value of rank 0 or 1; None if it has no such ones."""
    if isinstance(value, Extents):
        return list(value.numbers)
    if isinstance(value, Constant) and value.array.ndim < 2 and value.array.dtype.kind in "iu":
        return [int(number) for number in value.array.ravel().tolist()]
    if isinstance(value, Constant) and value.array.ndim < 2 and value.array.dtype == bool:
        return [int(number) for number in value.array.ravel().tolist()]
    return None


def _is_scalar(value: Value | None) -> bool:
    if isinstance(value, Extents):
        return value.is_scalar
    return isinstance(value, Constant) and value.array.ndim == 0


def _gather(node: Node) -> Value | None:
    data, indices = node.value(0), node.value(1)
    if not isinstance(data, Extents) or not isinstance(indices, Constant):
        return None
    if indices.array.ndim > 1 or data.is_scalar:
        return None
    numbers = data.numbers
    chosen = [int(i) for i in indices.array.ravel().tolist()]
    if any(not -len(numbers) <= i < len(numbers) for i in chosen):
        return None
    return Extents(tuple(numbers[i] for i in chosen), indices.array.ndim == 0)


def _slice(node: Node) -> Value | None:
    data = node.value(0)
    if not isinstance(data, Extents) or data.is_scalar:
        return None
    if node.opset < 10:
        starts, ends, steps = node.attr("starts"), node.attr("ends"), [1]
    else:
        starts, ends = node.ints(1), node.ints(2)
        steps = node.ints(4) if node.has(4) else [1]
    if len(starts) != 1 or steps[0] == 0:
        return None
    return Extents(data.numbers[starts[0] : ends[0] : steps[0]])


def _concat(node: Node) -> Value | None:
    parts = [_numbers(value) for value in node.inputs]
    if any(_is_scalar(value) for value in node.inputs):
        return None
    found: list[Number] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return Extents(tuple(found))


def _unsqueeze(node: Node) -> Value | None:
    data = node.value(0)
    axes = node.attr("axes") if node.opset < 13 else node.ints(1)
    if isinstance(data, Extents) and data.is_scalar and list(axes) in ([0], [-1]):
        return Extents(data.numbers)
    return None


def _squeeze(node: Node) -> Value | None:
    data = node.value(0)
    if isinstance(data, Extents) and len(data.numbers) == 1:
        return Extents(data.numbers, is_scalar=True)
    return None


def _reshape(node: Node) -> Value | None:
    data, shape = node.value(0), node.value(1)
    if not isinstance(data, Extents) or not isinstance(shape, Constant):
        return None
    wanted = node.ints(1)
    if wanted in ([-1], [len(data.numbers)]):
        return Extents(data.numbers)
    return Extents(data.numbers, is_scalar=True) if not wanted else None


def _cast(node: Node) -> Value | None:
    return _in_dtype(node, element_type(node.attr("to")))


def _cast_like(node: Node) -> Value | None:
    return _in_dtype(node, dtype_of(node.value(1)))


def _in_dtype(node: Node, dtype: str | None) -> Value | None:
    data = node.value(0)
    if not isinstance(data, Extents) or dtype not in ("int32", "int64"):
        return None
    return replace(data, dtype=dtype)


def _identity(node: Node) -> Value | None:
    return node.value(0)


def _by_element(function: Callable[..., Number]) -> ExtentRule:
    """Of numbers that are broadcast."""

    def rule(node: Node) -> Value | None:
        parts = []
        for value in node.inputs:
            part = _numbers(value)
            if part is None:
                return None
            parts.append(part)
        size = max(map(len, parts))
        if any(len(part) not in (1, size) for part in parts):
            return None
        rows = [part * size if len(part) == 1 else part for part in parts]
        found = [function(*numbers) for numbers in zip(*rows, strict=True)]
        return Extents(tuple(found), all(map(_is_scalar, node.inputs)))

    return rule


def _arithmetic(function: Callable[[int, int], int], neutral: int) -> ExtentRule:
    """Of two numbers.

    Args:
        function: Of known ones.
        neutral: As the second number it leaves the first as it is, known or not.
    """

    def of(x: Number, y: Number) -> Number:
        if y == neutral:
            return x
        return function(x, y) if isinstance(x, int) and isinstance(y, int) else None

    return _by_element(of)


def _equal(node: Node) -> Value | None:
    """Whether numbers are equal; an extent is never below 0."""

    def of(x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return int(x == y)
        pair = (x, y)
        if any(isinstance(n, Open) for n in pair) and any(
            isinstance(n, int) and n < 0 for n in pair
        ):
            return 0
        return None

    found = _by_element(of)(node)
    if not isinstance(found, Extents) or None in found.numbers:
        return None
    array = np.array(found.numbers, bool)
    return Constant(array.reshape(()) if found.is_scalar else array)


def _where(node: Node) -> Value | None:
    return _by_element(lambda which, x, y: None if which is None else x if which else y)(node)


def _quotient(x: int, y: int) -> int:
    """Towards zero, as ONNX divides; 0 where y is 0, as fluidcore does."""
    if y == 0:
        return 0
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def followed(node: Node, rule: ExtentRule) -> Value | None:
    """What a rule makes of the extents of a node, in the element type that they have."""
    found = rule(node)
    if isinstance(found, Extents) and rule not in (_cast, _cast_like):
        given = (value.dtype for value in node.inputs if isinstance(value, Extents))
        found = replace(found, dtype=next(given))
    return None if found is None else known_extents(found)


EXTENT_RULES: dict[tuple[str, str], ExtentRule] = {
    ("", "Add"): _arithmetic(operator.add, 0),
    ("", "Cast"): _cast,
    ("", "CastLike"): _cast_like,
    ("", "Concat"): _concat,
    ("", "Div"): _arithmetic(_quotient, 1),
    ("", "Equal"): _equal,
    ("", "Gather"): _gather,
    ("", "Identity"): _identity,
    ("", "Mul"): _arithmetic(operator.mul, 1),
    ("", "Reshape"): _reshape,
    ("", "Slice"): _slice,
    ("", "Squeeze"): _squeeze,
    ("", "Sub"): _arithmetic(operator.sub, 0),
    ("", "Unsqueeze"): _unsqueeze,
    ("", "Where"): _where,
}
