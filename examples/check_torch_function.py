"""Checks a torch.autograd.Function in float32, where finite differences alone see little.

The formula is judged in float64; then the float32 code is compared with it.
"""

import sys
from typing import Any

try:
    import torch
except ImportError:
    print("PyTorch is not installed: pip install torch, and run this again")
    sys.exit()

from fluidcore.gradcheck import check


class Swish(torch.autograd.Function):
    """x * sigmoid(x)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Keeps x for the gradient."""
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, v: torch.Tensor) -> torch.Tensor:
        """The gradient of the sum of v * y."""
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return v * (s + x * s * (1 - s))


class Forgetful(Swish):
    """The same, but its gradient forgets v: right where the loss is the sum of the outputs."""

    @staticmethod
    def backward(ctx: Any, v: torch.Tensor) -> torch.Tensor:
        """The gradient of the sum of y."""
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return s + x * s * (1 - s)


x = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
for function in Swish, Forgetful:
    print(check(function.apply, x, raise_exception=False), "\n")
