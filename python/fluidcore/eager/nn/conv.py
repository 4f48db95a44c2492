"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fluidcore import core
from fluidcore.base.dtypes import DTypeLike
from fluidcore.eager.apply import apply_single
from fluidcore.eager.nn.checks import check_dtype, check_pair, check_tensor
from fluidcore.eager.nn.module import Module
from fluidcore.eager.nn.parameter import uniform
from fluidcore.eager.tensor import Tensor
from fluidcore.layers.helper import check_size


class Conv2d(Module):
    """Convolution of images, with zeros around them.

    Attributes:
        weight: [out_channels, in_channels / groups, height, width], as in PyTorch.
        bias: [out_channels], or None. Both are uniform in ±1 / sqrt(in_channels / groups height
            width) at first.

    Args:
        in_channels: Of the images.
        out_channels: Of the result.
        kernel_size: Height and width of the filters, or one number for both.
        stride: Steps of the filters.
        padding: Zeros on each side.
        dilation: Distance between the elements of a filter.
        groups: Channels are divided into this many groups that do not see each other.
        bias: Whether there is one.
        dtype: Of the parameters.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: DTypeLike = "float32",
    ) -> None:
        numbers = {"in_channels": in_channels, "out_channels": out_channels, "groups": groups}
        for argument, number in numbers.items():
            check_size("Conv2d", argument, number)
        if in_channels % groups or out_channels % groups:
            raise core.InvalidArgument(
                "Conv2d: in_channels and out_channels must be multiples of groups, got "
                f"{in_channels}, {out_channels} and {groups} groups"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = check_pair("Conv2d", "kernel_size", kernel_size, 1)
        self.stride = check_pair("Conv2d", "stride", stride, 1)
        self.padding = check_pair("Conv2d", "padding", padding, 0)
        self.dilation = check_pair("Conv2d", "dilation", dilation, 1)
        self.groups = groups
        shape = [out_channels, in_channels // groups, *self.kernel_size]
        fan_in = math.prod(shape[1:])
        self.weight = uniform(shape, fan_in, dtype)
        self.bias = uniform([out_channels], fan_in, dtype) if bias else None
        self._attrs = {
            "strides": list(self.stride),
            "paddings": list(self.padding),
            "dilations": list(self.dilation),
            "groups": groups,
        }

    def forward(self, x: Tensor) -> Tensor:
        """[batch, out_channels, height', width'] of images [batch, in_channels, height, width].

        height' = (height + 2 padding - (dilation (kernel_size - 1) + 1)) / stride + 1.
        """
        x = check_tensor("Conv2d", x)
        if x.ndim != 4 or x.shape[1] != self.in_channels:
            raise core.InvalidArgument(
                f"Conv2d: x must be [batch, {self.in_channels}, height, width], got {x.dtype} "
                f"{list(x.shape)}"
            )
        check_dtype("Conv2d", x, self.weight)
        out = apply_single("conv2d", {"Input": x, "Filter": self.weight}, self._attrs)
        if self.bias is None:
            return out
        return apply_single("elementwise_add", {"X": out, "Y": self.bias}, {"axis": 1})

    def extra_repr(self) -> str:
        """The arguments; those with their default are left out."""
        defaults = {"padding": (0, 0), "dilation": (1, 1), "groups": 1}
        shown = [
            f", {name}={getattr(self, name)}"
            for name, default in defaults.items()
            if getattr(self, name) != default
        ]
        bias = "" if self.bias is not None else ", bias=False"
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}{''.join(shown)}{bias}"
        )
