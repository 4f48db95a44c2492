"""Constants with an extent that is known only at run time."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore.base.checks import check_number
from fluidcore.base.dtypes import DTypeLike
from fluidcore.layers.helper import LayerHelper, check_variable
from fluidcore.program import Variable


def fill_constant_batch_size_like(
    input: Variable,
    shape: Sequence[int],
    dtype: DTypeLike,
    value: float,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
) -> Variable:
    """A tensor of one value, with one extent that another variable has.

    Args:
        input: Any shape.
        shape: Extents; that at output_dim_idx is not looked at, the others are known.
        dtype: Element type.
        value: Of every element.
        input_dim_idx: The dimension of the input whose extent is taken.
        output_dim_idx: Where it is put.

    Returns:
        `shape` with that extent; a constant.

    Raises:
        core.InvalidArgument: A dimension is not one, or an extent is not known.

    Example:
        start = layers.fill_constant_batch_size_like(x, [-1, 16], "float32", 0.0)
    """
    check_variable("fill_constant_batch_size_like", "input", input)
    number = check_number("fill_constant_batch_size_like: value", value, finite=False)
    attrs = {
        "shape": shape,
        "dtype": dtype,
        "value": number,
        "input_dim_idx": input_dim_idx,
        "output_dim_idx": output_dim_idx,
    }
    helper = LayerHelper("fill_constant_batch_size_like")
    return helper.append("fill_constant_batch_size_like", {"Input": input}, attrs)
