"""Layers of dense networks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fluidcore import core
from fluidcore.base.checks import check_extents, is_whole
from fluidcore.base.dtypes import DTypeLike
from fluidcore.layers.helper import (
    LayerHelper,
    atomic,
    check_size,
    check_variable,
    check_variables,
    only_variable,
)
from fluidcore.param_attr import ParamAttrLike
from fluidcore.program import Variable


@atomic
def fc(
    input: Variable | Sequence[Variable],
    size: int,
    num_flatten_dims: int = 1,
    param_attr: ParamAttrLike | Sequence[ParamAttrLike] = None,
    bias_attr: ParamAttrLike = None,
    act: str | None = None,
    is_test: bool = False,
    name: str | None = None,
    use_mkldnn: bool = False,
) -> Variable:
    """Fully connected layer: act(x W + b), or act(x1 W1 + x2 W2 + ... + b).

    Args:
        input: [batch..., features...], floating; several inputs have a weight each.
        size: Number of output features.
        num_flatten_dims: How many leading dimensions are batch; the others are flattened.
        param_attr: Of the weights [features, size]; a list for several inputs.
        bias_attr: Of the bias [size]; False for none.
        act: Type of an activation operator, for example "relu".
        is_test: Accepted; the layer is the same then.
        name: Name of the layer; None makes one up.
        use_mkldnn: Accepted; it changes nothing.

    Returns:
        [batch..., size], dtype of the input.
    """
    del is_test, use_mkldnn
    inputs = check_variables("fc", "input", input)
    if isinstance(param_attr, Sequence) and not isinstance(param_attr, str):
        attrs = list(param_attr)
    else:
        attrs = [param_attr] * len(inputs)
    if not inputs or len(attrs) != len(inputs):
        raise core.InvalidArgument(
            "fc: there must be a param_attr for each of at least one input, "
            f"got {len(attrs)} for {len(inputs)}"
        )
    check_size("fc", "size", size)
    helper = LayerHelper("fc", name)
    terms = []
    for x, attr in zip(inputs, attrs, strict=True):
        features = _features(x, num_flatten_dims)
        weight = helper.weight(attr, [features, size], x.dtype)
        terms.append(
            helper.append("mul", {"X": x, "Y": weight}, {"x_num_col_dims": num_flatten_dims})
        )
    total = terms[0] if len(terms) == 1 else helper.append("sum", {"X": terms})
    return helper.activation(helper.bias(total, bias_attr, size, num_flatten_dims), act)


def _features(x: Variable, num_flatten_dims: int) -> int:
    if not is_whole(num_flatten_dims) or not 0 < num_flatten_dims < len(x.shape):
        raise core.InvalidArgument(
            f"fc: num_flatten_dims must be at least 1 and below the rank of the input, "
            f"got {num_flatten_dims} for '{x.name}' of shape {list(x.shape)}"
        )
    features = x.shape[num_flatten_dims:]
    if -1 in features:
        raise core.InvalidArgument(
            f"fc: the extents from {num_flatten_dims} on must be known, "
            f"got '{x.name}' of shape {list(x.shape)}"
        )
    return math.prod(features)


@atomic
def embedding(
    input: Variable,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: ParamAttrLike = None,
    dtype: DTypeLike = "float32",
) -> Variable:
    """Rows of a table.

    Args:
        input: [...], int64: numbers of rows. A last extent of 1 is left out of the result: both
            [n] and [n, 1] give [n, width].
        size: [rows, width] of the table, a new parameter.
        is_sparse: Whether the table's gradient is selected rows, those that were read: time and
            memory of a step then do not depend on the height of the table. Clips, weight decay
            and optimizers leave the other rows alone, and the optimizer's state of them.
        is_distributed: Accepted; the table is in this process.
        padding_idx: A row that reads as zeros; negative counts from the end.
        param_attr: Of the table.
        dtype: Of the table.

    Returns:
        [..., width].
    """
    check_variable("embedding", "input", input)
    table_shape = check_extents("embedding", size)
    if len(table_shape) != 2:
        raise core.InvalidArgument(f"embedding: size must be [rows, width], got {size!r}")
    rows, width = table_shape
    check_size("embedding", "the number of rows", rows)
    check_size("embedding", "the width", width)
    if padding_idx is not None and not (is_whole(padding_idx) and -rows <= padding_idx < rows):
        raise core.InvalidArgument(
            f"embedding: padding_idx must be a row of the table, got {padding_idx!r} of {rows} rows"
        )
    padding = -1 if padding_idx is None else padding_idx % rows
    helper = LayerHelper("embedding")
    table = helper.weight(param_attr, [rows, width], dtype)
    attrs = {"is_sparse": is_sparse, "padding_idx": padding}
    drops_last = bool(input.shape) and input.shape[-1] == 1
    op_type = "lookup_table" if drops_last else "lookup_table_v2"
    return helper.append(op_type, {"W": table, "Ids": input}, attrs)


def dropout(
    x: Variable,
    dropout_prob: float,
    is_test: bool = False,
    seed: int | None = None,
    name: str | None = None,
) -> Variable:
    """Sets elements to zero at random; when testing, scales all by 1 - dropout_prob instead.

    Args:
        x: Any shape, floating.
        dropout_prob: Probability of a zero.
        is_test: Whether to scale instead; `Program.clone(for_test=True)` sets it.
        seed: Gives the same zeros in every run; None for new ones.
        name: Name of the layer; None makes one up.

    Returns:
        Shape and dtype of x.
    """
    check_variable("dropout", "x", x)
    attrs = {
        "dropout_prob": dropout_prob,
        "is_test": is_test,
        "fix_seed": seed is not None,
        "seed": seed or 0,
    }
    return LayerHelper("dropout", name).append("dropout", {"X": x}, attrs)


def matmul(
    x: Variable,
    y: Variable,
    transpose_x: bool = False,
    transpose_y: bool = False,
    name: str | None = None,
) -> Variable:
    """Matrix product, batched over leading dimensions.

    Args:
        x: [..., m, k].
        y: [..., k, n].
        transpose_x: Whether x is [..., k, m] instead.
        transpose_y: Whether y is [..., n, k] instead.
        name: Name of the layer; None makes one up.

    Returns:
        [..., m, n].
    """
    check_variable("matmul", "x", x)
    check_variable("matmul", "y", y)
    attrs = {"transpose_X": transpose_x, "transpose_Y": transpose_y}
    return LayerHelper("matmul", name).append("matmul", {"X": x, "Y": y}, attrs)


def bmm(x: Variable, y: Variable, name: str | None = None) -> Variable:
    """Products of matrices in batches: matmul of tensors of rank 3 or more; batches broadcast.

    Args:
        x: [batch..., m, k].
        y: [batch..., k, n].
        name: Name of the layer; None makes one up.

    Returns:
        [batch..., m, n].
    """
    for argument, value in (("x", x), ("y", y)):
        check_variable("bmm", argument, value)
        if len(value.shape) < 3:
            raise core.InvalidArgument(
                f"bmm: {argument} must have rank 3 or more, got shape {list(value.shape)}"
            )
    return LayerHelper("bmm", name).append("matmul", {"X": x, "Y": y})


def mul(
    x: Variable,
    y: Variable,
    x_num_col_dims: int = 1,
    y_num_col_dims: int = 1,
    name: str | None = None,
) -> Variable:
    """Matrix product of x and y, each flattened to two dimensions.

    Args:
        x: [rows..., k...].
        y: [k..., columns...].
        x_num_col_dims: How many dimensions of x are rows.
        y_num_col_dims: How many dimensions of y are multiplied away.
        name: Name of the layer; None makes one up.

    Returns:
        [rows..., columns...].
    """
    check_variable("mul", "x", x)
    check_variable("mul", "y", y)
    attrs = {"x_num_col_dims": x_num_col_dims, "y_num_col_dims": y_num_col_dims}
    return LayerHelper("mul", name).append("mul", {"X": x, "Y": y}, attrs)


def _reduce(
    op_type: str,
    x: Variable,
    dim: int | Sequence[int] | None,
    keep_dim: bool,
    name: str | None,
) -> Variable:
    x = only_variable(op_type, "input", x)
    if isinstance(dim, Sequence) and not dim:
        raise core.InvalidArgument(
            f"{op_type}: dim must name a dimension, got {dim!r}; leave it out for all"
        )
    attrs = {"dim": 0 if dim is None else dim, "keep_dim": keep_dim, "reduce_all": dim is None}
    return LayerHelper(op_type, name).append(op_type, {"X": x}, attrs)


def reduce_sum(
    input: Variable,
    dim: int | Sequence[int] | None = None,
    keep_dim: bool = False,
    name: str | None = None,
) -> Variable:
    """The sum along one dimension or several, or of all elements.

    Args:
        input: Any shape.
        dim: The dimension to add up, or several; counted from the end if negative; None for all.
        keep_dim: Whether the result keeps these dimensions, with extent 1.
        name: Name of the layer; None makes one up.

    Returns:
        The shape of the input without `dim`; [1] for all.
    """
    return _reduce("reduce_sum", input, dim, keep_dim, name)


def reduce_mean(
    input: Variable,
    dim: int | Sequence[int] | None = None,
    keep_dim: bool = False,
    name: str | None = None,
) -> Variable:
    """The mean along one dimension or several, or of all elements; as reduce_sum."""
    return _reduce("reduce_mean", input, dim, keep_dim, name)


def reduce_max(
    input: Variable,
    dim: int | Sequence[int] | None = None,
    keep_dim: bool = False,
    name: str | None = None,
) -> Variable:
    """The largest element along one dimension or several, or of all; as reduce_sum."""
    return _reduce("reduce_max", input, dim, keep_dim, name)


def reduce_min(
    input: Variable,
    dim: int | Sequence[int] | None = None,
    keep_dim: bool = False,
    name: str | None = None,
) -> Variable:
    """The smallest element along one dimension or several, or of all; as reduce_sum."""
    return _reduce("reduce_min", input, dim, keep_dim, name)


def reduce_prod(
    input: Variable,
    dim: int | Sequence[int] | None = None,
    keep_dim: bool = False,
    name: str | None = None,
) -> Variable:
    """The product along one dimension or several, or of all elements; as reduce_sum."""
    return _reduce("reduce_prod", input, dim, keep_dim, name)


def reduce_any(
    input: Variable,
    dim: int | Sequence[int] | None = None,
    keep_dim: bool = False,
    name: str | None = None,
) -> Variable:
    """Whether an element is true along one dimension or several, or of all; as reduce_sum."""
    return _reduce("reduce_any", input, dim, keep_dim, name)


def reduce_all(
    input: Variable,
    dim: int | Sequence[int] | None = None,
    keep_dim: bool = False,
    name: str | None = None,
) -> Variable:
    """Whether all elements are true along one dimension or several, or of all; as reduce_sum."""
    return _reduce("reduce_all", input, dim, keep_dim, name)
