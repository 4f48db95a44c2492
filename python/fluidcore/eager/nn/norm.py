"""Normalization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fluidcore import core
from fluidcore.base.checks import check_extents, check_number, is_whole
from fluidcore.base.dtypes import HALF, DTypeLike
from fluidcore.eager.apply import apply, apply_single
from fluidcore.eager.nn.checks import check_dtype, check_last, check_share, check_tensor
from fluidcore.eager.nn.module import Module
from fluidcore.eager.tensor import Tensor
from fluidcore.layers.helper import check_size


class BatchNorm(Module):
    """Normalizes each channel over the batch, then scales and shifts it.

    One class for what PyTorch calls BatchNorm1d, BatchNorm2d and BatchNorm3d. `momentum` is that of
    PyTorch, the share of the new: running = (1 - momentum) running + momentum batch; that of
    `layers.batch_norm` is the share of the old. As in PyTorch the batch is divided by the root of
    its biased variance, and the running variance is that of unbiased ones.

    Attributes:
        weight: [num_features], ones at first; None without `affine`.
        bias: [num_features], zeros at first; None without `affine`.
        running_mean: Buffer [num_features], zeros at first.
        running_var: Buffer [num_features], ones at first.
        num_batches_tracked: Buffer [], int64.

    Args:
        num_features: Channels.
        eps: Added to the variance.
        momentum: Share of the new in running statistics; None: they are the mean of all batches.
        affine: Whether to scale and shift.
        track_running_stats: Whether there are running statistics, which `eval()` normalizes with;
            without them it takes those of the batch, too.
        dtype: Of parameters and statistics.
    """

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: DTypeLike = "float32",
    ) -> None:
        check_size("BatchNorm", "num_features", num_features)
        self.num_features = num_features
        self.eps = check_number("BatchNorm: eps", eps)
        self.momentum = None if momentum is None else check_share("BatchNorm: momentum", momentum)
        self.affine = bool(affine)
        self.track_running_stats = bool(track_running_stats)
        zeros, ones = (Tensor.full([num_features], value, dtype) for value in (0, 1))
        self._zeros, self._ones = zeros, ones
        self.weight = Tensor(ones, requires_grad=True) if affine else None
        self.bias = Tensor(zeros, requires_grad=True) if affine else None
        tracked = self.track_running_stats
        self.register_buffer("running_mean", Tensor(zeros) if tracked else None)
        self.register_buffer("running_var", Tensor(ones) if tracked else None)
        self.register_buffer("num_batches_tracked", Tensor(0) if tracked else None)

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of x, [batch, num_features, ...], of rank 2 to 5."""
        x = check_tensor("BatchNorm", x)
        if not 2 <= x.ndim <= 5 or x.shape[1] != self.num_features:
            raise core.InvalidArgument(
                f"BatchNorm: x must be [batch, {self.num_features}, ...], of rank 2 to 5, got "
                f"{x.dtype} {list(x.shape)}"
            )
        if x.dtype not in HALF:  # which may have statistics of float32
            check_dtype("BatchNorm", x, self._ones)
        uses_batch = self.training or self.running_mean is None
        count = x.size // self.num_features
        if uses_batch and count < 2:
            raise core.InvalidArgument(
                "BatchNorm: a batch must have at least two numbers for each channel, got "
                f"{x.dtype} {list(x.shape)}; write eval() to use the running statistics"
            )
        results = apply(
            "batch_norm",
            {
                "X": x,
                "Scale": self._ones if self.weight is None else self.weight,
                "Bias": self._zeros if self.bias is None else self.bias,
                "Mean": self._zeros if uses_batch else self.running_mean,
                "Variance": self._ones if uses_batch else self.running_var,
            },
            # momentum 0: what comes out as running statistics is that of the batch
            {"is_test": not uses_batch, "momentum": 0.0, "epsilon": self.eps},
        )
        if self.training:
            self._track(results["MeanOut"], results["VarianceOut"], count)
        y: Tensor = results["Y"]
        return y

    def _track(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Moves the running statistics towards those of the batch."""
        if self.running_mean is None or self.running_var is None:
            return
        assert self.num_batches_tracked is not None
        batches = self.num_batches_tracked.item() + 1
        share = 1 / batches if self.momentum is None else self.momentum
        unbiased = variance.array * (count / (count - 1))
        for running, new in ((self.running_mean, mean.array), (self.running_var, unbiased)):
            running.set_value((1 - share) * running.array + share * new)
        self.num_batches_tracked.set_value(batches)

    def extra_repr(self) -> str:
        """The arguments."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class LayerNorm(Module):
    """Normalizes over the last dimensions, then scales and shifts each element.

    Attributes:
        weight: normalized_shape, ones at first; None without `elementwise_affine`.
        bias: normalized_shape, zeros at first; None without it, or without `bias`.

    Args:
        normalized_shape: The last extents of x, or the last one.
        eps: Added to the variance.
        elementwise_affine: Whether to scale and shift.
        bias: Whether to shift.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: DTypeLike = "float32",
    ) -> None:
        given: Any = [normalized_shape] if is_whole(normalized_shape) else normalized_shape
        self.normalized_shape = tuple(check_extents("LayerNorm", given))
        if not self.normalized_shape or min(self.normalized_shape) < 1:
            raise core.InvalidArgument(
                "LayerNorm: normalized_shape must be one extent or more, each of at least 1, "
                f"got {normalized_shape!r}"
            )
        self.eps = check_number("LayerNorm: eps", eps)
        self.elementwise_affine = bool(elementwise_affine)
        self.weight = self.bias = None
        if elementwise_affine:
            self.weight = Tensor.ones(self.normalized_shape, dtype, requires_grad=True)
        if elementwise_affine and bias:
            self.bias = Tensor.zeros(self.normalized_shape, dtype, requires_grad=True)

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of x, [..., *normalized_shape]."""
        x = check_last("LayerNorm", check_tensor("LayerNorm", x), self.normalized_shape)
        if self.weight is not None:
            check_dtype("LayerNorm", x, self.weight)
        axis = x.ndim - len(self.normalized_shape)
        return apply_single(
            "layer_norm",
            {"X": x, "Scale": self._flat(self.weight), "Bias": self._flat(self.bias)},
            {"begin_norm_axis": axis, "epsilon": self.eps},
        )

    def _flat(self, parameter: Tensor | None) -> Tensor | None:
        if parameter is None or parameter.ndim == 1:
            return parameter
        return parameter.reshape(math.prod(self.normalized_shape))

    def extra_repr(self) -> str:
        """The arguments."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )
