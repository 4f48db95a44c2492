"""Constants with an extent that is known only at run time."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.base.checks import check_extents, is_whole
from fluidcore.base.dtypes import FLOATING, DTypeLike
from fluidcore.layers.helper import LayerHelper, atomic, check_variable
from fluidcore.layers.tensor import cast, fill_constant
from fluidcore.program import Variable


@atomic
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
    layer = "fill_constant_batch_size_like"
    check_variable(layer, "input", input)
    extents = check_extents(layer, shape)
    for argument, dim, rank in (
        ("input_dim_idx", input_dim_idx, len(input.shape)),
        ("output_dim_idx", output_dim_idx, len(extents)),
    ):
        if not is_whole(dim) or not 0 <= dim < rank:
            raise core.InvalidArgument(
                f"{layer}: {argument} must be a dimension, got {dim!r} for {rank} dimensions"
            )
    others = extents[:output_dim_idx] + extents[output_dim_idx + 1 :]
    if -1 in others:
        raise core.InvalidArgument(
            f"{layer}: all extents of shape but that at output_dim_idx must be known, "
            f"got {extents} with output_dim_idx {output_dim_idx}"
        )
    extent = input.shape[input_dim_idx]
    if extent != -1:
        extents[output_dim_idx] = extent
        return fill_constant(extents, dtype, value)
    helper = LayerHelper(layer)
    zeros = helper.append("fill_zeros_like", {"X": input})
    if zeros.dtype not in FLOATING:
        zeros = cast(zeros, "float32")
    for dim in reversed(range(len(input.shape))):
        if dim != input_dim_idx:
            attrs = {"dim": dim, "keep_dim": False, "reduce_all": False}
            zeros = helper.append("reduce_sum", {"X": zeros}, attrs)
    along = [-1 if dim == output_dim_idx else 1 for dim in range(len(extents))]
    column = helper.append("reshape", {"X": cast(zeros, dtype)}, {"shape": along})
    extents[output_dim_idx] = 1
    return helper.append(
        "elementwise_add", {"X": column, "Y": fill_constant(extents, dtype, value)}
    )
