"""Gradients of bounded length."""

from __future__ import annotations

import math
from collections.abc import Iterable

from fluidcore import core
from fluidcore.base.checks import check_number
from fluidcore.base.dtypes import HALF
from fluidcore.eager.optim.base import tensors
from fluidcore.eager.state import no_grad
from fluidcore.eager.tensor import Tensor


def clip_grad_norm(parameters: Iterable[Tensor] | Tensor, max_norm: float) -> Tensor:
    """Scales the gradients of all parameters by one factor, so that their common norm is bounded.

    The factor is max_norm / max(max_norm, norm), as of `fluidcore.clip.GradientClipByGlobalNorm`.

    Args:
        parameters: Those without a gradient are left out.
        max_norm: The largest norm, above 0.

    Returns:
        The norm before, sqrt(sum of squares of all gradients): [], float32, or float64 if a
        gradient is.

    Raises:
        core.InvalidArgument: No parameter has a gradient.
    """
    limit = check_number("clip_grad_norm: max_norm", max_norm)
    if limit <= 0:
        raise ValueError(f"clip_grad_norm: max_norm must be above 0, got {max_norm}")
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    clipped = [(p, p.grad) for p in tensors("clip_grad_norm", given) if p.grad is not None]
    if not clipped:
        raise core.InvalidArgument(
            "clip_grad_norm: a parameter must have a gradient, got none; call loss.backward() first"
        )
    with no_grad():
        norm = math.sqrt(sum(_wide(grad).square().sum().item() for _, grad in clipped))
        if not norm <= limit:  # NaN goes on into all gradients
            for parameter, grad in clipped:
                parameter._grad = grad * (limit / norm)
    is_double = any(grad.dtype == "float64" for _, grad in clipped)
    return Tensor(norm, "float64" if is_double else "float32")


def _wide(grad: Tensor) -> Tensor:
    return grad.astype("float32") if grad.dtype in HALF else grad
