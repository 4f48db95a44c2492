"""Functions of other frameworks as targets of a check; a framework is never imported for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from fluidcore import core
from fluidcore.base.checks import check_name, did_you_mean
from fluidcore.gradcheck.adapters import arguments
from fluidcore.gradcheck.adapters.callable_ import CallableTarget
from fluidcore.gradcheck.adapters.claim import Claim
from fluidcore.gradcheck.adapters.origin import name_of

__all__ = ["CallableTarget", "Claim", "callable_target", "framework_of"]

FRAMEWORKS = {"numpy": "numpy", "torch": "torch", "jax": "jax", "mlx": "mlx.core"}


def framework_of(f: Any, args: Sequence[Any]) -> str:
    """Whose tensors are among `args`, or whose object `f` is: "torch", "jax", "mlx" or "numpy"."""
    values = [leaf for argument in args for _, leaf in arguments.leaves(argument, "")]
    torch, jax, mlx = (sys.modules.get(FRAMEWORKS[name]) for name in ("torch", "jax", "mlx"))
    if torch is not None and (
        isinstance(f, torch.nn.Module) or any(isinstance(leaf, torch.Tensor) for leaf in values)
    ):
        return "torch"
    if jax is not None and (
        type(f).__module__.startswith(("jax.", "jaxlib."))
        or any(isinstance(leaf, jax.Array) for leaf in values)
    ):
        return "jax"
    if mlx is not None and any(isinstance(leaf, mlx.array) for leaf in values):
        return "mlx"
    return "numpy"


def callable_target(
    f: Any,
    args: Sequence[Any],
    *,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    value_and_grad: bool = False,
    second_vjp: Callable[..., Any] | None = None,
    framework: str = "auto",
    name: str | None = None,
) -> CallableTarget:
    """A function, with its gradient, as a target.

    Args:
        f: A function of NumPy arrays, or of the tensors of PyTorch, JAX or MLX; a
            torch.autograd.Function, a torch module, a custom operator. It returns a floating
            tensor, or a tuple of them.
        args: The point. Floating tensors, also in lists and dicts, are differentiated by; all else
            is constant.
        vjp: vjp(*args, *vs) returns the gradients of Σ v·y: one array where there is one input,
            else a tuple with an entry for each argument, or each input. Needed for NumPy; the
            frameworks have their own.
        jvp: jvp(*args, *us) returns the derivative of the outputs along us, a direction for each
            input; `forward_mode_audit` compares it with the gradient.
        value_and_grad: f returns (value, gradients) of one number.
        second_vjp: second_vjp(*args, *vs, *us) returns the gradients of Σ u·vjp(*args, *vs), u
            being an array for each input; compared where the second order is checked.
        framework: "numpy", "torch", "jax", "mlx", or "auto": whose tensors are among `args`.
        name: What messages call f.

    Raises:
        core.InvalidArgument: Nothing can be differentiated by, a dtype is complex or they differ, f
            returns something else than floating tensors, or a gradient is missing.
    """
    who = name_of(f) if name is None else check_name("check: name", name)
    for what, function in (("f", f), ("vjp", vjp), ("jvp", jvp), ("second_vjp", second_vjp)):
        if not callable(function) and (what == "f" or function is not None):
            raise TypeError(f"{who}: {what} must be callable, got {arguments.described(function)}")
    chosen = framework_of(f, args) if framework == "auto" else framework
    if chosen not in FRAMEWORKS:
        names = ", ".join(FRAMEWORKS)
        raise core.InvalidArgument(
            f"{who}: framework must be one of auto, {names}, got {framework!r}"
            f"{did_you_mean(str(framework), FRAMEWORKS)}"
        )
    if FRAMEWORKS[chosen] not in sys.modules:
        raise core.InvalidArgument(
            f"{who}: framework {chosen!r} must be imported before its functions are checked"
        )
    if second_vjp is not None and vjp is None:
        raise core.InvalidArgument(f"{who}: second_vjp must come with a vjp, got none; give vjp=")
    if vjp is not None and value_and_grad:
        raise core.InvalidArgument(f"{who}: must have a vjp or value_and_grad, got both")
    return _target_class(chosen)(f, args, Claim(vjp, jvp, value_and_grad, second_vjp), name)


def _target_class(framework: str) -> type[CallableTarget]:
    if framework == "torch":
        from fluidcore.gradcheck.adapters.torch_ import TorchTarget

        return TorchTarget
    if framework == "jax":
        from fluidcore.gradcheck.adapters.jax_ import JaxTarget

        return JaxTarget
    if framework == "mlx":
        from fluidcore.gradcheck.adapters.mlx_ import MlxTarget

        return MlxTarget
    from fluidcore.gradcheck.adapters.numpy_ import NumpyTarget

    return NumpyTarget
