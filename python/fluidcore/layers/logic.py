"""Comparisons and logic: bool results, in an existing variable where one is given.

cond = layers.less_than(i, n)
loop = layers.While(cond)
with loop.block():
    ...
    layers.less_than(i, n, cond=cond)
"""

from __future__ import annotations

from fluidcore.layers.helper import LayerHelper, check_variable
from fluidcore.program import Variable


def _binary(op_type: str, x: Variable, y: Variable, out: Variable | None) -> Variable:
    check_variable(op_type, "x", x)
    check_variable(op_type, "y", y)
    return LayerHelper(op_type).append_into(out, op_type, {"X": x, "Y": y})


def less_than(
    x: Variable, y: Variable, force_cpu: bool | None = None, cond: Variable | None = None
) -> Variable:
    """X < y, element by element.

    Args:
        x: Any shape.
        y: A shape that broadcasts to that of x, of the same dtype.
        force_cpu: Accepted; it changes nothing.
        cond: Is written if given.

    Returns:
        Shape of x, bool; `cond` if given. No gradient passes.

    Example:
        layers.less_than(i, n, cond=cond)  # the last line of a While block
    """
    del force_cpu
    return _binary("less_than", x, y, cond)


def less_equal(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """X <= y, element by element; otherwise as less_than."""
    return _binary("less_equal", x, y, cond)


def greater_than(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """X > y, element by element; otherwise as less_than."""
    return _binary("greater_than", x, y, cond)


def greater_equal(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """X >= y, element by element; otherwise as less_than."""
    return _binary("greater_equal", x, y, cond)


def equal(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """X == y, element by element; otherwise as less_than."""
    return _binary("equal", x, y, cond)


def not_equal(x: Variable, y: Variable, cond: Variable | None = None) -> Variable:
    """X != y, element by element; otherwise as less_than."""
    return _binary("not_equal", x, y, cond)


def logical_and(x: Variable, y: Variable, out: Variable | None = None) -> Variable:
    """Whether both are true, element by element.

    Args:
        x: Any shape, bool.
        y: A shape that broadcasts to that of x, bool.
        out: Is written if given.

    Returns:
        Shape of x, bool; `out` if given. No gradient passes.

    Example:
        go_on = layers.logical_and(layers.less_than(i, n), layers.logical_not(found))
    """
    return _binary("logical_and", x, y, out)


def logical_or(x: Variable, y: Variable, out: Variable | None = None) -> Variable:
    """Whether one of them is true, element by element; otherwise as logical_and."""
    return _binary("logical_or", x, y, out)


def logical_xor(x: Variable, y: Variable, out: Variable | None = None) -> Variable:
    """Whether just one of them is true, element by element; otherwise as logical_and."""
    return _binary("logical_xor", x, y, out)


def logical_not(x: Variable, out: Variable | None = None) -> Variable:
    """Whether x is false, element by element.

    Args:
        x: Any shape, bool.
        out: Is written if given.

    Returns:
        Shape of x, bool; `out` if given. No gradient passes.
    """
    check_variable("logical_not", "x", x)
    return LayerHelper("logical_not").append_into(out, "logical_not", {"X": x})


def is_empty(x: Variable, cond: Variable | None = None) -> Variable:
    """Whether a tensor has no elements.

    Args:
        x: Any shape and dtype.
        cond: Is written if given.

    Returns:
        [1], bool; `cond` if given.

    Example:
        layers.is_empty(rows)  # true where `rows` is [0, 3]
    """
    check_variable("is_empty", "x", x)
    return LayerHelper("is_empty").append_into(cond, "is_empty", {"X": x})
