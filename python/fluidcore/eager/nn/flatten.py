"""Dimensions put together."""

from __future__ import annotations

import math

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.eager.nn.checks import check_tensor
from fluidcore.eager.nn.module import Module
from fluidcore.eager.tensor import Tensor


class Flatten(Module):
    """Puts neighbouring dimensions together: [batch, channels height width] of images.

    Args:
        start_dim: The first of them; negative counts from the end.
        end_dim: The last of them.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        for argument, dim in (("start_dim", start_dim), ("end_dim", end_dim)):
            if not is_whole(dim):
                raise TypeError(f"Flatten: {argument} must be a whole number, got {dim!r}")
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, x: Tensor) -> Tensor:
        """[..., product of the extents of the dimensions, ...]."""
        x = check_tensor("Flatten", x)
        start, end = (dim + x.ndim if dim < 0 else dim for dim in (self.start_dim, self.end_dim))
        if not 0 <= start <= end < x.ndim:
            raise core.InvalidArgument(
                f"Flatten: x must have the dimensions {self.start_dim} to {self.end_dim}, in this "
                f"order, got {x.dtype} {list(x.shape)}"
            )
        extents = list(x.shape)
        flat = [*extents[:start], math.prod(extents[start : end + 1]), *extents[end + 1 :]]
        if x.size:
            flat[0] = -1  # whatever the batch: a trace may be of any
        return x.reshape(flat)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
