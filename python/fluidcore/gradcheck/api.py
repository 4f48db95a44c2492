"""One call that checks a function of arrays or tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

from fluidcore import core
from fluidcore.base.checks import did_you_mean
from fluidcore.gradcheck.adapters import callable_target
from fluidcore.gradcheck.adapters.forward_mode import forward_mode_audit
from fluidcore.gradcheck.adapters.origin import name_of
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.report.result import GradCheckReport
from fluidcore.gradcheck.target.random_numbers import random_states_kept
from fluidcore.gradcheck.target.target import own_target

_DEFAULT = GradCheckConfig()
_OPTIONS = frozenset(field.name for field in fields(GradCheckConfig))


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
    raise_exception: bool = True,
    **options: Any,
) -> GradCheckReport:
    """Checks the gradient of a function at a point: a test that calls it fails unless it is proven.

        def cube(x):
            return x**3

        check(cube, np.array([1.0, 2.0]), vjp=lambda x, v: 3 * x**2 * v)

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
        raise_exception: Whether a report that is not PASS is raised; else it is returned, too.
        **options: Fields of GradCheckConfig that replace those of `config`.

    Raises:
        GradientError: The verdict is FAIL or INCONCLUSIVE; an AssertionError whose text is that of
            the report, which it has as `report`.
        core.InvalidArgument: f or its gradient does not return tensors, or there are none in
            `args`.
        Exception: Whatever f or its gradient raises at the point.
    """
    __tracebackhide__ = True  # pytest then shows the user's line
    if unknown := [option for option in options if option not in _OPTIONS]:
        cure = did_you_mean(unknown[0], _OPTIONS) or f"; it has: {', '.join(sorted(_OPTIONS))}"
        raise TypeError(
            f"check: options must be fields of GradCheckConfig, got {unknown[0]!r}{cure}"
        )
    if not (config is None or isinstance(config, GradCheckConfig)):
        raise TypeError(f"check: config must be a GradCheckConfig, got {type(config).__name__}")
    settings = config or _DEFAULT
    report = function_report(
        f,
        args,
        replace(settings, **options) if options else settings,
        vjp=vjp,
        jvp=jvp,
        value_and_grad=value_and_grad,
        second_vjp=second_vjp,
        framework=framework,
        name=name,
    )
    if raise_exception:
        report.assert_ok()
    return report


def function_report(
    f: Any,
    args: Sequence[Any],
    settings: GradCheckConfig,
    *,
    framework: str = "auto",
    name: str | None = None,
    **claim: Any,
) -> GradCheckReport:
    """The report on a function, whatever its verdict.

    Args:
        f: As of `check`, like all others.
        args: The point.
        settings: How the gradient is checked.
        framework: Whose tensors are among `args`.
        name: What the report calls f.
        **claim: `vjp`, `jvp`, `value_and_grad`, `second_vjp`.
    """
    who = name or name_of(f)
    own = own_target(f, args, who)
    if own is not None:
        if given := [key for key, value in claim.items() if value not in (None, False)]:
            raise core.InvalidArgument(
                f"{who}: the gradient of such tensors must be their own, got {given[0]}; give "
                "NumPy arrays to check a gradient that you have written"
            )
        return run_check(own, settings)
    with random_states_kept():  # once for all
        target = callable_target(f, args, framework=framework, name=name, **claim)
        report = run_check(target, settings)
    if claim.get("jvp") is None or not settings.audits:
        return report
    return replace(report, audits=(*report.audits, forward_mode_audit(target, settings.seed)))
