"""One call that checks a function of arrays or tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from fluidcore.gradcheck.adapters import callable_target
from fluidcore.gradcheck.adapters.forward_mode import forward_mode_audit
from fluidcore.gradcheck.adapters.origin import name_of
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.near import meant
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.target import own_target


def check(
    f: Any,
    *args: Any,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    value_and_grad: bool = False,
    second_vjp: Callable[..., Any] | None = None,
    framework: str = "auto",
    name: str | None = None,
    config: GradCheckConfig | None = None,
    **options: Any,
) -> GradCheckReport:
    """Checks the gradient of a function at a point.

        def cube(x):
            return x**3

        print(check(cube, np.array([1.0, 2.0]), vjp=lambda x, v: 3 * x**2 * v))

    Args:
        f: A function of NumPy arrays, or of the tensors of PyTorch, JAX, MLX or fluidcore.eager;
            also a torch.autograd.Function, a torch module or a custom operator.
        *args: The point. Floating tensors, also in lists and dicts, are differentiated by; all else
            is constant. Nothing of the user's is changed.
        vjp: vjp(*args, *vs) returns the gradients of Σ v·y: an array, or a tuple with an entry for
            each argument. Needed for NumPy; the frameworks have their own.
        jvp: jvp(*args, *us) returns the derivative of the outputs along us, a direction for each
            input; it is compared with the gradient.
        value_and_grad: f returns (value, gradients) of one number.
        second_vjp: With a vjp of your own: second_vjp(*args, *vs, *us) returns the gradients of
            Σ u·vjp(*args, *vs), us being an array for each input that is differentiated by. It is
            compared if `second_order` is set. PyTorch and JAX have their own.
        framework: "numpy", "torch", "jax", "mlx", or "auto": whose tensors are among `args`.
        name: What the report calls f.
        config: How the gradient is checked.
        **options: Fields of GradCheckConfig that replace those of `config`.

    Raises:
        core.InvalidArgument: f or its gradient does not return tensors, or there are none in
            `args`.
        Exception: Whatever f or its gradient raises at the point.
    """
    from fluidcore.gradcheck.pipeline import run_check

    known = {field.name for field in fields(GradCheckConfig)}
    if unknown := [option for option in options if option not in known]:
        cure = meant(unknown[0], known) or f"; it has: {', '.join(sorted(known))}"
        raise TypeError(
            f"check: options must be fields of GradCheckConfig, got {unknown[0]!r}{cure}"
        )
    if not (config is None or isinstance(config, GradCheckConfig)):
        raise TypeError(f"check: config must be a GradCheckConfig, got {type(config).__name__}")
    settings = replace(config or GradCheckConfig(), **options)
    own = own_target(f, args, name or name_of(f))
    if own is not None:
        return run_check(own, settings)
    target = callable_target(
        f,
        args,
        vjp=vjp,
        jvp=jvp,
        value_and_grad=value_and_grad,
        second_vjp=second_vjp,
        framework=framework,
        name=name,
    )
    report = run_check(target, settings)
    if jvp is None or not settings.audits:
        return report
    return replace(report, audits=(*report.audits, forward_mode_audit(target, settings.seed)))
