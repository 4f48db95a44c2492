"""Dense layers."""

from __future__ import annotations

from fluidcore.base.dtypes import DTypeLike
from fluidcore.eager.apply import apply_single
from fluidcore.eager.nn.checks import check_dtype, check_last, check_tensor
from fluidcore.eager.nn.module import Module
from fluidcore.eager.nn.parameter import uniform
from fluidcore.eager.tensor import Tensor
from fluidcore.layers.helper import check_size


class Linear(Module):
    """x Wᵀ + b.

    Attributes:
        weight: [out_features, in_features] as in PyTorch; that of `layers.fc` is transposed.
        bias: [out_features], or None. Both are uniform in ±1 / sqrt(in_features) at first.

    Args:
        in_features: The last extent of x.
        out_features: The last extent of the result.
        bias: Whether there is one.
        dtype: Of the parameters.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, dtype: DTypeLike = "float32"
    ) -> None:
        check_size("Linear", "in_features", in_features)
        check_size("Linear", "out_features", out_features)
        self.in_features = in_features
        self.out_features = out_features
        self.weight = uniform([out_features, in_features], in_features, dtype)
        self.bias = uniform([out_features], in_features, dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """[..., out_features] of x [..., in_features]."""
        x = check_last("Linear", check_tensor("Linear", x), [self.in_features])
        check_dtype("Linear", x, self.weight)
        out = apply_single("matmul", {"X": x, "Y": self.weight}, {"transpose_Y": True})
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        """The arguments."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
