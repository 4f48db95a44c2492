"""PyTorch's counterparts of the operators: for tests that compare the two, and for timing."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from bench import torch_layers
from bench.torch_layers import Attrs, Function, Slots


def _of_x(function: Callable[[torch.Tensor], torch.Tensor]) -> Function:
    return lambda i, a: function(i.X)


def _of_x_and_y(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Function:
    return lambda i, a: function(i.X, _aligned(i.X, i.Y, a.axis))


def _aligned(x: torch.Tensor, y: torch.Tensor, axis: int) -> torch.Tensor:
    """`y` with its first dimension at dimension `axis` of `x`."""
    if axis == -1:
        return y
    return y.reshape([*y.shape, *[1] * (x.dim() - axis - y.dim())])


def _reduced(function: Callable[..., torch.Tensor]) -> Function:
    def reduce(i: Slots, a: Attrs) -> torch.Tensor:
        dim = list(range(i.X.dim())) if a.reduce_all else _axes(i.X, a.dim)
        out = function(i.X, dim, keepdim=a.keep_dim) if dim else i.X
        # As Fluid does, what would have rank 0 has rank 1.
        return out if out.dim() else out.reshape(1)

    return reduce


def _axes(x: torch.Tensor, dim: int | list[int]) -> list[int]:
    return [d % x.dim() for d in ([dim] if isinstance(dim, int) else dim)]


def _product(x: torch.Tensor, dim: list[int], keepdim: bool) -> torch.Tensor:
    for axis in sorted((d % x.dim() for d in dim), reverse=True):
        x = x.prod(axis, keepdim=keepdim)
    return x


def _mul(i: Slots, a: Attrs) -> torch.Tensor:
    x = i.X.reshape(math.prod(i.X.shape[: a.x_num_col_dims]), -1) if i.X.numel() else None
    y = i.Y.reshape(math.prod(i.Y.shape[: a.y_num_col_dims]), -1) if i.Y.numel() else None
    shape = [*i.X.shape[: a.x_num_col_dims], *i.Y.shape[a.y_num_col_dims :]]
    if x is None or y is None:
        return i.X.new_zeros(shape)
    return (x @ y).reshape(shape)


def _matmul(i: Slots, a: Attrs) -> torch.Tensor:
    # A vector is a row on the left and a column on the right, transposed the other way round.
    x = i.X if i.X.dim() > 1 else i.X[None]
    y = i.Y if i.Y.dim() > 1 else i.Y[:, None]
    out = (x.mT if a.transpose_X else x) @ (y.mT if a.transpose_Y else y)
    if i.Y.dim() == 1 and not a.transpose_Y:
        out = out.squeeze(-1)
    return out.squeeze(0) if i.X.dim() == 1 and not a.transpose_X else out


def _convolution(function: Callable[..., torch.Tensor], *, transposed: bool = False) -> Function:
    def convolve(i: Slots, a: Attrs) -> torch.Tensor:
        x = i.Input.movedim(-1, 1) if a.data_format[-1] == "C" else i.Input
        groups = [a.groups] if not transposed else [0, a.groups]
        out = function(
            x,
            i.Filter,
            None,
            a.strides,
            a.paddings,
            *groups[:-1],
            **{"groups": groups[-1], "dilation": a.dilations},
        )
        return out.movedim(1, -1) if a.data_format[-1] == "C" else out

    return convolve


def _pool(rank: int) -> Function:
    average = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[rank]
    maximum = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[rank]
    adaptive_average = {
        1: F.adaptive_avg_pool1d,
        2: F.adaptive_avg_pool2d,
        3: F.adaptive_avg_pool3d,
    }[rank]
    adaptive_maximum = {
        1: F.adaptive_max_pool1d,
        2: F.adaptive_max_pool2d,
        3: F.adaptive_max_pool3d,
    }[rank]

    def pool(i: Slots, a: Attrs) -> torch.Tensor:
        x = i.X.movedim(-1, 1) if a.data_format[-1] == "C" else i.X
        if a.global_pooling:
            dims = tuple(range(2, x.dim()))
            out = x.amax(dims, True) if a.pooling_type == "max" else x.mean(dims, True)
        elif a.adaptive:
            adaptive = adaptive_maximum if a.pooling_type == "max" else adaptive_average
            out = adaptive(x, a.ksize)
        elif a.pooling_type == "max":
            out = maximum(x, a.ksize, a.strides, a.paddings, ceil_mode=a.ceil_mode)
        else:
            out = average(x, a.ksize, a.strides, a.paddings, a.ceil_mode, False)
        return out.movedim(1, -1) if a.data_format[-1] == "C" else out

    return pool


def _layer_norm(i: Slots, a: Attrs) -> torch.Tensor:
    shape = i.X.shape[a.begin_norm_axis :]
    scale, bias = (None if v is None else v.reshape(shape) for v in (i.Scale, i.Bias))
    if scale is None and bias is not None:  # PyTorch forgets the cotangent of such a bias
        return F.layer_norm(i.X, shape, None, None, a.epsilon) + bias
    return F.layer_norm(i.X, shape, scale, bias, a.epsilon)


def _batch_norm(i: Slots, a: Attrs) -> torch.Tensor:
    x = i.X.movedim(-1, 1) if a.data_layout == "NHWC" else i.X
    out = F.batch_norm(
        x, i.Mean.clone(), i.Variance.clone(), i.Scale, i.Bias, not a.is_test, 0.1, a.epsilon
    )
    return out.movedim(1, -1) if a.data_layout == "NHWC" else out


def _cross_entropy(i: Slots, a: Attrs) -> torch.Tensor:
    if a.soft_label:
        return -(i.Label * i.X.log()).sum(-1, keepdim=True)
    return _picked(i.X.log(), i.Label, a.ignore_index)


def _softmax_with_cross_entropy(i: Slots, a: Attrs) -> torch.Tensor:
    logs = F.log_softmax(i.Logits, -1)
    if a.soft_label:
        return -(i.Label * logs).sum(-1, keepdim=True)
    return _picked(logs, i.Label, a.ignore_index)


def _picked(logs: torch.Tensor, label: torch.Tensor, ignored: int) -> torch.Tensor:
    label = label.long().reshape([*logs.shape[:-1], 1])
    kept = label != ignored
    return torch.where(kept, -logs.gather(-1, torch.where(kept, label, 0)), 0)


def _lookup(ids: Callable[[torch.Tensor], torch.Tensor]) -> Function:
    def look_up(i: Slots, a: Attrs) -> torch.Tensor:
        rows = ids(i.Ids).long()
        out = i.W[rows]
        return out if a.padding_idx == -1 else out * (rows != a.padding_idx)[..., None]

    return look_up


def _pad(i: Slots, a: Attrs) -> torch.Tensor:
    widths = [w for pair in reversed(range(i.X.dim())) for w in a.paddings[2 * pair : 2 * pair + 2]]
    return (
        F.pad(i.X, widths, "constant", a.pad_value)
        if a.mode == "constant"
        else _pad_by_index(i.X, a.paddings, a.mode)
    )


def _pad_by_index(x: torch.Tensor, paddings: list[int], mode: str) -> torch.Tensor:
    """NumPy's meaning of the modes, along one axis after the other."""
    for axis, n in enumerate(x.shape):
        before, after = paddings[2 * axis : 2 * axis + 2]
        at = torch.arange(-before, n + after)
        if mode in ("edge", "replicate"):
            at = at.clamp(0, n - 1)
        elif mode in ("wrap", "circular"):
            at = at % n
        else:
            at = (at % max(2 * n - 2, 1)).minimum(-at % max(2 * n - 2, 1))
        x = x.index_select(axis, at)
    return x


def _slices(i: Slots, a: Attrs) -> torch.Tensor:
    out = i.X
    strides = getattr(a, "strides", None) or [1] * len(a.axes)
    for axis, start, end, stride in zip(a.axes, a.starts, a.ends, strides, strict=True):
        at = range(out.shape[axis])[
            slice(start, end if stride > 0 or end >= -out.shape[axis] else None, stride)
        ]
        out = out.index_select(axis, torch.tensor(list(at), dtype=torch.long))
    return out


def _lrn(i: Slots, a: Attrs) -> torch.Tensor:
    before = (a.n - 1) // 2
    squares = F.pad(i.X.square(), [0, 0, 0, 0, before, a.n - 1 - before])
    return i.X * (a.k + a.alpha * squares.unfold(1, a.n, 1).sum(-1)) ** -a.beta


def _smooth_l1(i: Slots, a: Attrs) -> torch.Tensor:
    difference = i.X - i.Y
    if i.InsideWeight is not None:
        difference = difference * i.InsideWeight
    loss = F.smooth_l1_loss(
        difference, torch.zeros_like(difference), reduction="none", beta=1 / a.sigma**2
    )
    if i.OutsideWeight is not None:
        loss = loss * i.OutsideWeight
    return loss.flatten(1).sum(1, keepdim=True)


def _modified_huber(i: Slots, a: Attrs) -> torch.Tensor:
    z = (2 * i.Y - 1) * i.X
    return torch.where(z < -1, -4 * z, (1 - z).clamp(min=0).square())


FUNCTIONS: dict[str, Function] = {
    **torch_layers.FUNCTIONS,
    # Of one tensor, element by element.
    **{
        name: _of_x(function)
        for name, function in {
            "abs": torch.abs,
            "assign": torch.clone,
            "ceil": torch.ceil,
            "cos": torch.cos,
            "erf": torch.erf,
            "exp": torch.exp,
            "floor": torch.floor,
            "log": torch.log,
            "logsigmoid": F.logsigmoid,
            "mish": F.mish,
            "reciprocal": torch.reciprocal,
            "relu": torch.relu,
            "round": torch.round,
            "sigmoid": torch.sigmoid,
            "sign": torch.sign,
            "silu": F.silu,
            "sin": torch.sin,
            "softplus": lambda x: F.softplus(x, threshold=1e9),
            "softsign": F.softsign,
            "sqrt": torch.sqrt,
            "square": torch.square,
            "tanh": torch.tanh,
            "tanh_shrink": F.tanhshrink,
        }.items()
    },
    "brelu": lambda i, a: i.X.clamp(a.t_min, a.t_max),
    "clip": lambda i, a: i.X.clamp(a.min, a.max),
    "elu": lambda i, a: F.elu(i.X, a.alpha),
    "gelu": lambda i, a: F.gelu(i.X, approximate="tanh" if a.approximate else "none"),
    "hard_shrink": lambda i, a: F.hardshrink(i.X, a.threshold),
    "hard_sigmoid": lambda i, a: (a.slope * i.X + a.offset).clamp(0, 1),
    "leaky_relu": lambda i, a: F.leaky_relu(i.X, a.alpha),
    "pow": lambda i, a: i.X.pow(a.factor),
    "relu6": lambda i, a: i.X.clamp(0, a.threshold),
    "scale": lambda i, a: a.scale * i.X,
    "soft_relu": lambda i, a: F.softplus(i.X.clamp(-a.threshold, a.threshold), threshold=1e9),
    "softshrink": lambda i, a: F.softshrink(i.X, getattr(a, "lambda")),
    "stanh": lambda i, a: a.scale_b * torch.tanh(a.scale_a * i.X),
    "swish": lambda i, a: i.X * torch.sigmoid(a.beta * i.X),
    "thresholded_relu": lambda i, a: F.threshold(i.X, a.threshold, 0.0),
    # Of two tensors, element by element.
    **{
        name: _of_x_and_y(function)
        for name, function in {
            "elementwise_add": torch.add,
            "elementwise_div": torch.div,
            "elementwise_max": torch.maximum,
            "elementwise_min": torch.minimum,
            "elementwise_mod": torch.remainder,
            "elementwise_mul": torch.mul,
            "elementwise_pow": torch.pow,
            "elementwise_sub": torch.sub,
        }.items()
    },
    "minus": lambda i, a: i.X - i.Y,
    "sum": lambda i, a: sum(i.X[1:], i.X[0]),
    "where": lambda i, a: torch.where(i.Condition, i.X, i.Y),
    # Reductions and scans.
    "cumsum": lambda i, a: _cumsum(i.X, a),
    "l1_norm": lambda i, a: i.X.abs().sum().reshape(1),
    "logsumexp": _reduced(torch.logsumexp),
    "mean": lambda i, a: i.X.mean().reshape(1),
    "reduce_max": _reduced(torch.amax),
    "reduce_mean": _reduced(torch.mean),
    "reduce_min": _reduced(torch.amin),
    "reduce_prod": _reduced(_product),
    "reduce_sum": _reduced(torch.sum),
    "squared_l2_norm": lambda i, a: i.X.square().sum().reshape(1),
    # Products.
    "conv1d": _convolution(F.conv1d),
    "conv1d_transpose": _convolution(F.conv_transpose1d, transposed=True),
    "conv2d": _convolution(F.conv2d),
    "conv2d_transpose": _convolution(F.conv_transpose2d, transposed=True),
    "conv3d": _convolution(F.conv3d),
    "conv3d_transpose": _convolution(F.conv_transpose3d, transposed=True),
    "depthwise_conv2d": _convolution(F.conv2d),
    "matmul": _matmul,
    "mul": _mul,
    # Windows, normalization, rows.
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "log_softmax": lambda i, a: F.log_softmax(i.X, -1),
    "lrn": _lrn,
    "norm": lambda i, a: (
        i.X
        / (i.X.square().sum(1, keepdim=True) + a.epsilon).sqrt()
        * i.Scale.reshape([1, -1, *[1] * (i.X.dim() - 2)])
    ),
    "pool1d": _pool(1),
    "pool2d": _pool(2),
    "pool3d": _pool(3),
    "softmax": lambda i, a: F.softmax(i.X, -1),
    # Losses.
    "cross_entropy": _cross_entropy,
    "hinge_loss": lambda i, a: F.relu(1 - (2 * i.Labels - 1) * i.Logits),
    "huber_loss": lambda i, a: F.huber_loss(i.X, i.Y, reduction="none", delta=a.delta),
    "kl_div": lambda i, a: F.kl_div(i.X, i.Target, reduction="none"),
    "log_loss": lambda i, a: (
        -i.Labels * (i.Predicted + a.epsilon).log()
        - (1 - i.Labels) * (1 - i.Predicted + a.epsilon).log()
    ),
    "margin_rank_loss": lambda i, a: F.relu(-i.Label * (i.X1 - i.X2) + a.margin),
    "modified_huber_loss": _modified_huber,
    "rank_loss": lambda i, a: (
        F.softplus(i.Left - i.Right, threshold=1e9) - i.Label * (i.Left - i.Right)
    ),
    "sigmoid_cross_entropy_with_logits": lambda i, a: F.binary_cross_entropy_with_logits(
        i.X, i.Label, reduction="none"
    ),
    "smooth_l1_loss": _smooth_l1,
    "softmax_with_cross_entropy": _softmax_with_cross_entropy,
    # What moves elements.
    "argsort": lambda i, a: i.X.sort(dim=a.axis, descending=a.descending, stable=True)[0],
    "broadcast_to": lambda i, a: i.X.expand(a.shape).clone(),
    "concat": lambda i, a: torch.cat(i.X, a.axis),
    "expand": lambda i, a: i.X.repeat(a.expand_times),
    "flip": lambda i, a: i.X.flip(a.axis),
    "gather": lambda i, a: i.X[i.Index.long().flatten()],
    "gather_nd": lambda i, a: i.X[tuple(i.Index.long().movedim(-1, 0))],
    "index_select": lambda i, a: i.X.index_select(a.axis, i.Index.long()),
    "lookup_table": _lookup(lambda ids: ids.squeeze(-1)),
    "lookup_table_v2": _lookup(lambda ids: ids),
    "pad": _pad,
    "reshape": lambda i, a: i.X.reshape(a.shape if i.Shape is None else i.Shape.tolist()),
    "roll": lambda i, a: i.X.roll(a.shifts, a.axis or None),
    "scatter_nd_add": lambda i, a: i.X.index_put(
        tuple(i.Index.long().movedim(-1, 0)), i.Updates, accumulate=True
    ),
    "slice": _slices,
    "stack": lambda i, a: torch.stack(i.X, a.axis),
    "strided_slice": _slices,
    "take_along_axis": lambda i, a: i.X.take_along_dim(i.Index.long(), a.axis),
    "tile": lambda i, a: i.X.tile(a.repeat_times),
    "top_k": lambda i, a: i.X.topk(a.k)[0],
    "transpose": lambda i, a: i.X.permute(a.axis),
    "tril": lambda i, a: i.X.tril(a.diagonal),
    "triu": lambda i, a: i.X.triu(a.diagonal),
}


def _cumsum(x: torch.Tensor, a: Attrs) -> torch.Tensor:
    x = x.flip(a.axis) if a.reverse else x
    out = x.cumsum(a.axis)
    out = out - x if a.exclusive else out
    return out.flip(a.axis) if a.reverse else out


def slots(given: dict[str, Any], names: list[str]) -> Slots:
    """What a function takes: None in a slot that is left out."""
    return SimpleNamespace(**{name: given.get(name) for name in names})
