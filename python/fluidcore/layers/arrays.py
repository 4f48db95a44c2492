"""Tensor arrays: lists of tensors of one shape and dtype that grow while a program runs.

An array is empty whenever the block that it was made in starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fluidcore import core
from fluidcore.base.dtypes import DTypeLike, dtype_name
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.program import Variable, default_main_program
from fluidcore.program.variable import ARRAY


def is_array(value: object) -> bool:
    """Whether a value is a Variable that holds a tensor array."""
    return isinstance(value, Variable) and value.is_array


def create_array(dtype: DTypeLike, shape: Sequence[int] | None = None) -> Variable:
    """An empty tensor array of the current block.

    Args:
        dtype: Element type of its tensors.
        shape: Of each of its tensors. None takes it from the first array_write; it must be given
            where the array is read, in the text of the program, before it is written.

    Returns:
        The array; for array_write, array_read and array_length only.

    Example:
        states = layers.create_array("float32")
    """
    block = default_main_program().current_block()
    element = dtype_name(dtype)
    array = block.create_var(block.unique_name("array"), shape=shape, dtype=element)
    array.desc.set_type(ARRAY)
    return array


def _check_index(layer: str, i: object) -> None:
    check_variable(layer, "i", i)
    assert isinstance(i, Variable)
    known = -1 not in i.shape
    if i.dtype not in ("int32", "int64") or (known and math.prod(i.shape) != 1):
        raise core.InvalidArgument(
            f"{layer}: i must be int64 or int32 with one element, got {i.dtype} {list(i.shape)} "
            f"for '{i.name}'; write fill_constant([1], 'int64', 0)"
        )


def _check_array(layer: str, array: object) -> None:
    check_variable(layer, "array", array)
    if not is_array(array):
        raise core.InvalidArgument(
            f"{layer}: array must be a tensor array, got {array!r}; make one with create_array"
        )


@atomic
def array_write(x: Variable, i: Variable, array: Variable | None = None) -> Variable:
    """Writes one tensor of an array.

    Args:
        x: Any shape; that of the array's tensors.
        i: One number, int64 or int32: the place. An array that is shorter grows.
        array: None makes a new array in the current block.

    Returns:
        The array.

    Raises:
        core.InvalidArgument: x has not the shape and dtype of the array's tensors; at run time,
            the place is negative.

    Example:
        layers.array_write(hidden, i, array=states)
    """
    check_variable("array_write", "x", x)
    _check_index("array_write", i)
    if array is None:
        array = create_array(x.dtype, x.shape)
    _check_array("array_write", array)
    block = LayerHelper("array_write").block
    block.append_op("write_to_array", {"X": x, "I": i}, {"Out": array})
    array.block.undeclared.discard(array.name)
    return array


def array_read(array: Variable, i: Variable) -> Variable:
    """Reads one tensor of an array.

    Args:
        array: A tensor array.
        i: One number, int64 or int32: the place.

    Returns:
        The tensor; shape and dtype of the array's tensors.

    Raises:
        core.InvalidArgument: At run time: nothing was written to the place.

    Example:
        before = layers.array_read(states, i)
    """
    _check_array("array_read", array)
    _check_index("array_read", i)
    if array.name in array.block.undeclared:
        raise core.InvalidArgument(
            f"array_read: the shape of the tensors of '{array.name}' must be known, got an array "
            f"that nothing is written to above; write create_array('{array.dtype}', shape=[...])"
        )
    return LayerHelper("array_read").append("read_from_array", {"X": array, "I": i})


def array_length(array: Variable) -> Variable:
    """The number of tensors in an array: one more than the last place that was written.

    Args:
        array: A tensor array.

    Returns:
        [1], int64.

    Example:
        last = layers.increment(layers.array_length(states), -1)
    """
    _check_array("array_length", array)
    return LayerHelper("array_length").append("lod_array_length", {"X": array})
