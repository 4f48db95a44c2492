"""Layers that make and rearrange tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.base.checks import check_number, is_whole
from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_name
from fluidcore.initializer import Constant, Initializer, Xavier
from fluidcore.layers.copied_extents import with_copies
from fluidcore.layers.helper import (
    LayerHelper,
    atomic,
    check_variable,
    check_variables,
    initialize,
)
from fluidcore.param_attr import ParamAttr, ParamAttrLike
from fluidcore.program import Parameter, Variable


@atomic
def create_parameter(
    shape: Sequence[int],
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: ParamAttrLike = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Parameter:
    """A parameter, initialized in the startup program.

    Args:
        shape: Extents, all known.
        dtype: Element type.
        name: Its name; None makes one up.
        attr: How it is initialized and learnt.
        is_bias: Whether it starts at zero.
        default_initializer: If `attr` has none.

    Returns:
        `shape`.
    """
    given = ParamAttr.of(attr)
    if given is not None and given.name is None and name is not None:
        settings = (given.initializer, given.learning_rate, given.regularizer, given.trainable)
        given = ParamAttr(name, *settings, given.gradient_clip)
    initializer = default_initializer or (Constant(0.0) if is_bias else Xavier())
    helper = LayerHelper("create_parameter", name)
    made = helper.create_parameter(given, shape, dtype_name(dtype), "w", initializer)
    if made is None:
        raise core.InvalidArgument("create_parameter: attr must not be False")
    return made


def create_tensor(dtype: DTypeLike, name: str | None = None, persistable: bool = False) -> Variable:
    """A variable without a value, whose shape comes from the operator that writes it.

    Args:
        dtype: Element type.
        name: Its name; None makes one up.
        persistable: Whether it lives in the Scope between runs; what writes it must then be of a
            shape that is known, and of the same one wherever it is written.
    """
    block = LayerHelper("create_tensor", name).block
    return block.create_var(
        name or block.unique_name("create_tensor"), dtype=dtype, persistable=persistable
    )


@atomic
def create_global_var(
    shape: Sequence[int],
    value: float,
    dtype: DTypeLike,
    persistable: bool = False,
    force_cpu: bool = False,
    name: str | None = None,
) -> Variable:
    """A variable that the startup program fills with one value.

    Args:
        shape: Extents, all known.
        value: Of every element.
        dtype: Element type.
        persistable: Whether it lives in the Scope between runs.
        force_cpu: Accepted for Fluid's sake.
        name: Its name; None makes one up.

    Returns:
        `shape`; stops gradients.
    """
    helper = LayerHelper("global_var", name)
    block = helper.main_program.global_block()
    found = None if name is None else block.find_var(name)
    if found is not None and not found.persistable:
        raise core.InvalidArgument(
            f"create_global_var: '{name}' must be a new name, got that of {found!r}"
        )
    variable = block.create_var(
        name or block.unique_name("global_var"),
        shape=shape,
        dtype=dtype,
        persistable=persistable,
        stop_gradient=True,
    )
    initialize(helper.startup_program, variable, Constant(value, force_cpu))
    return variable


def fill_constant(
    shape: Sequence[int],
    dtype: DTypeLike,
    value: float,
    force_cpu: bool = False,
    out: Variable | None = None,
) -> Variable:
    """A tensor of one value.

    Args:
        shape: Extents, all known.
        dtype: Element type.
        value: Of every element; True or False for bool.
        force_cpu: Whether the tensor stays on the CPU.
        out: Is written if given.

    Returns:
        `shape`; a constant, until something else is written to it.
    """
    if isinstance(value, bool) and dtype_name(dtype) == "bool":
        value = int(value)
    number = check_number("fill_constant: value", value, finite=False)
    if number != value and dtype_name(dtype) not in FLOATING and math.isfinite(number):
        raise core.InvalidArgument(
            f"fill_constant: value must be one that a float64 holds, got {value}"
        )
    attrs = {"shape": shape, "dtype": dtype, "value": number, "force_cpu": force_cpu}
    return LayerHelper("fill_constant").append_into(out, "fill_constant", {}, attrs)


def ones(shape: Sequence[int], dtype: DTypeLike, force_cpu: bool = False) -> Variable:
    """A tensor of ones, as fill_constant makes it."""
    return fill_constant(shape, dtype, 1.0, force_cpu)


def zeros(shape: Sequence[int], dtype: DTypeLike, force_cpu: bool = False) -> Variable:
    """A tensor of zeros, as fill_constant makes it."""
    return fill_constant(shape, dtype, 0.0, force_cpu)


def assign(input: Variable | NDArray[Any], output: Variable | None = None) -> Variable:
    """A copy of a variable, or the elements of an array, in `output` if given."""
    if isinstance(input, np.ndarray):
        floating = dtype_name(input.dtype) in FLOATING
        values = list(map(float if floating else int, input.ravel().tolist()))
        slot = "fp32_values" if floating else "int32_values"
        attrs = {"shape": input.shape, "dtype": input.dtype, slot: values}
        return LayerHelper("assign_value").append_into(output, "assign_value", {}, attrs)
    check_variable("assign", "input", input)
    return LayerHelper("assign").append_into(output, "assign", {"X": input})


def cast(x: Variable, dtype: DTypeLike) -> Variable:
    """X converted to another element type."""
    check_variable("cast", "x", x)
    return LayerHelper("cast").append("cast", {"X": x}, {"in_dtype": x.dtype, "out_dtype": dtype})


def sums(input: Sequence[Variable], out: Variable | None = None) -> Variable:
    """The sum of several variables of one shape, in `out` if given."""
    terms = check_variables("sums", "input", input)
    return LayerHelper("sum").append_into(out, "sum", {"X": terms})


def increment(x: Variable, value: float = 1.0, in_place: bool = True) -> Variable:
    """X + value for a single number, by default in x itself."""
    check_variable("increment", "x", x)
    step = check_number("increment: value", value)
    out = x if in_place else None
    return LayerHelper("increment").append_into(out, "increment", {"X": x}, {"step": step})


@atomic
def reshape(
    x: Variable,
    shape: Sequence[int],
    actual_shape: Variable | None = None,
    act: str | None = None,
    inplace: bool = True,
    name: str | None = None,
) -> Variable:
    """The elements of x in another shape.

    Args:
        x: Any shape.
        shape: The new extents; one may be -1 and follows from the others. A 0 stands for the
            extent of x at its position, unless x is known to be empty. With actual_shape, -1 for
            every extent that it says.
        actual_shape: int32 or int64 [len(shape)]: all extents, where they are known only when the
            program runs; one may be -1. A run prepares anew for extents that it has not met.
        act: Type of an activation operator, for example "relu".
        inplace: Accepted for Fluid's sake; memory is shared where that changes nothing.
        name: Name of the layer; None makes one up.

    Returns:
        `shape`.
    """
    check_variable("reshape", "x", x)
    if actual_shape is not None:
        check_variable("reshape", "actual_shape", actual_shape)
    helper = LayerHelper("reshape", name)
    if actual_shape is None:
        shape = with_copies(x, shape)
    inputs = {"X": x, "Shape": actual_shape}
    return helper.activation(helper.append("reshape", inputs, {"shape": shape}), act)


def transpose(x: Variable, perm: Sequence[int], name: str | None = None) -> Variable:
    """X with its dimensions in the order `perm`: dimension i of the result is perm[i] of x."""
    check_variable("transpose", "x", x)
    return LayerHelper("transpose", name).append("transpose", {"X": x}, {"axis": perm})


def reverse(x: Variable, axis: int | Sequence[int]) -> Variable:
    """`flip` under Fluid's name: the elements of one or more dimensions in the opposite order."""
    return LayerHelper("reverse").append(
        "flip", {"X": x}, {"axis": [axis] if isinstance(axis, int) else list(axis)}
    )


def concat(
    input: Sequence[Variable],
    axis: int = 0,
    name: str | None = None,
) -> Variable:
    """Several variables one after the other along `axis`; the other extents are equal."""
    parts = check_variables("concat", "input", input)
    return LayerHelper("concat", name).append("concat", {"X": parts}, {"axis": axis})


def split(
    input: Variable,
    num_or_sections: int | Sequence[int],
    dim: int = -1,
    name: str | None = None,
) -> list[Variable]:
    """Parts of a variable along `dim`.

    Args:
        input: Any shape.
        num_or_sections: A number of equal parts, or the extent of each part.
        dim: The dimension to divide; negative counts from the end.
        name: Name of the layer; None makes one up.

    Returns:
        The parts.
    """
    check_variable("split", "input", input)
    attrs: dict[str, Any]
    if isinstance(num_or_sections, (list, tuple)):
        count, attrs = len(num_or_sections), {"sections": list(num_or_sections)}
    elif is_whole(num_or_sections):
        count, attrs = int(num_or_sections), {"num": num_or_sections}
    else:
        raise TypeError(
            f"split: num_or_sections must be a whole number or a list, got {num_or_sections!r}"
        )
    if count < 1:
        raise core.InvalidArgument(f"split: there must be at least one part, got {count}")
    axis = dim + len(input.shape) if dim < 0 else dim
    helper = LayerHelper("split", name)
    parts = [helper.temporary() for _ in range(count)]
    helper.block.append_op("split", {"X": input}, {"Out": parts}, {**attrs, "axis": axis})
    return [helper.block.var(part) for part in parts]


def unstack(
    x: Variable, axis: int = 0, num: int | None = None, name: str | None = None
) -> list[Variable]:
    """The parts of a variable that have one index of `axis`, without this dimension.

    Args:
        x: Rank 1 or more.
        axis: The dimension; negative counts from the end.
        num: Its extent; None where that is known.
        name: Name of the layer; None makes one up.

    Returns:
        The parts, in order.
    """
    check_variable("unstack", "x", x)
    rank = len(x.shape)
    if not (is_whole(axis) and -rank <= axis < rank):
        raise core.InvalidArgument(
            f"unstack: axis must be in [-{rank}, {rank}) for an input of rank {rank}, got {axis!r}"
        )
    count = x.shape[axis] if num is None else num
    if not is_whole(count) or count < 1:
        raise core.InvalidArgument(
            f"unstack: num must be given and at least 1 where axis {axis} of x has no known "
            f"extent, got num {num!r}, x {list(x.shape)}"
        )
    helper = LayerHelper("unstack", name)
    parts = [helper.temporary() for _ in range(count)]
    helper.block.append_op("unstack", {"X": x}, {"Y": parts}, {"axis": axis, "num": count})
    return [helper.block.var(part) for part in parts]


def crop(
    x: Variable,
    shape: Variable | Sequence[int] | None = None,
    offsets: Sequence[int] | None = None,
    name: str | None = None,
) -> Variable:
    """The part of x that begins at `offsets`.

    Args:
        x: Any shape.
        shape: Extents of the part, or a variable that has them.
        offsets: The index in x of its first element; None for zeros.
        name: Name of the layer; None makes one up.

    Returns:
        `shape`.
    """
    check_variable("crop", "x", x)
    inputs, attrs = {"X": x}, {"offsets": [0] * len(x.shape) if offsets is None else offsets}
    if isinstance(shape, Variable):
        inputs["Y"] = shape
    elif shape is not None:
        attrs["shape"] = shape
    return LayerHelper("crop", name).append("crop", inputs, attrs)
