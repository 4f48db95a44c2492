"""Operators as functions and methods of tensors, made from the operators' definitions.

`eager.clip(x, 0.0, 6.0)`, `x.clip(0.0, 6.0)`: arguments as those of `layers.generated`, or of the
layers in `composed`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fluidcore import core
from fluidcore.base.definitions import remembered
from fluidcore.eager import composed
from fluidcore.eager.apply import apply, apply_all
from fluidcore.eager.tensor import Tensor
from fluidcore.layers.generated import attrs_from, describe, docstring, layer_names, split_arguments


def _make(op_type: str) -> Callable[..., Any] | None:
    try:
        layer = describe(op_type)
    except core.NotFound:
        return None
    if layer is None:
        return None
    positional = [argument.name for argument in split_arguments(layer)[0]]
    slots = {argument.name: argument.source for argument in layer.inputs}
    attrs = {argument.name for argument in layer.attrs}
    required = {a.name for a in layer.inputs + layer.attrs if a.default is inspect.Parameter.empty}

    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(positional):
            raise TypeError(
                f"{op_type}() takes {', '.join(positional)} by position, got {len(args)} "
                "arguments; name the others"
            )
        given = dict(zip(positional, args, strict=False))
        for name in kwargs:
            if name in given or (name not in slots and name not in attrs):
                known = ", ".join([*slots, *attrs])
                raise TypeError(f"{op_type}() takes {known}, got '{name}' too")
        given |= kwargs
        missing = sorted(required - given.keys())
        if missing:
            raise TypeError(f"{op_type}() must be given {', '.join(missing)}")
        return apply_all(
            op_type,
            {slot: given[name] for name, slot in slots.items() if name in given},
            attrs_from(layer, given),
        )

    function.__name__ = function.__qualname__ = op_type
    function.__doc__ = docstring(layer)
    return function


@remembered
def function(name: str) -> Callable[..., Any] | None:
    """The function of an operator or a layer, of one result or a tuple; None if it has none."""
    if name in composed.NAMES:
        return composed.composed(name)
    return None if name.startswith("_") else _make(name)


def names() -> list[str]:
    """The operators and layers with a function."""
    return sorted({*layer_names(), *composed.NAMES})


def method(tensor: Tensor, name: str) -> Callable[..., Any]:
    """The function of an operator with the tensor as its first input."""
    found = function(name)
    if found is None:
        raise AttributeError(f"'Tensor' has no attribute or operator '{name}'")
    return functools.partial(found, tensor)


def split(x: Tensor, sections: int | list[int], dim: int = 0) -> list[Tensor]:
    """Parts of a tensor along one dimension.

    Args:
        x: Any shape.
        sections: The number of equal parts, or the extent of each.
        dim: The dimension that is cut.

    Raises:
        core.InvalidArgument: There is no part, or the parts do not fit.
    """
    equal = isinstance(sections, int)
    attrs = {"num" if equal else "sections": sections, "axis": dim}
    count = sections if isinstance(sections, int) else len(sections)
    if count < 1:
        raise core.InvalidArgument(f"split: there must be at least one part, got {sections!r}")
    parts: list[Tensor] = apply("split", {"X": x}, attrs, {"Out": count})["Out"]
    return parts


def unstack(x: Tensor, axis: int = 0) -> list[Tensor]:
    """The slices of a tensor along one dimension, without it; none along an extent of 0.

    Args:
        x: Rank 1 or more.
        axis: The dimension; counted from the end if negative.
    """
    count = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    if count == 0:
        return []
    parts: list[Tensor] = apply("unstack", {"X": x}, {"axis": axis}, {"Y": count})["Y"]
    return parts
