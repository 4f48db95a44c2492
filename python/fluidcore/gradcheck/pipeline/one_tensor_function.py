"""A function of one tensor, and a gradient of it that was calculated somewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name
from fluidcore.base.dtypes import FLOATING
from fluidcore.gradcheck.adapters import callable_target, framework_of
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline import assemble
from fluidcore.gradcheck.pipeline.array_gradient import judge_array
from fluidcore.gradcheck.pipeline.run import run_check
from fluidcore.gradcheck.report.data import Audit
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult
from fluidcore.gradcheck.target.calls import Calls, cast, flat
from fluidcore.gradcheck.target.target import Array, Target, TensorWithTarget, own_target
from fluidcore.gradcheck.verdict import Reason, Verdict

Function = Callable[[Any], Any]

_BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}  # of a significand


class OfFunction:
    """y = f(x) with one tensor or array on either side.

    Args:
        f: The function.
        input: An eager Tensor, an array, or a tensor of another framework.
        who: What messages start with.
        cotangent: Of the shape of f(input); None for ones, the sum of all elements.

    Raises:
        TypeError: f cannot be called, or does not return one tensor.
        core.InvalidArgument: The cotangent has another shape.
    """

    def __init__(self, f: Function, input: Any, who: str, cotangent: Any = None) -> None:
        self.who = check_name("name", who)
        if not callable(f):
            raise TypeError(f"{who}: f must be callable, got {type(f).__name__}")
        self.target, self._has_gradient = _target(f, input, who)
        self.value: Array = self.target.inputs[0].value
        calls = Calls(self.target)
        outputs = calls.forward(self.target.dtype)
        if len(outputs) != 1:
            raise TypeError(f"{who}: f must return one tensor, got {len(outputs)}")
        self._output = outputs[0]
        self._changed = calls.changed
        self.cotangent = self._weights(cotangent)

    def _weights(self, cotangent: Any) -> Array:
        y = self._output
        if cotangent is None:
            return np.ones(y.shape, y.dtype)
        weights = np.asarray(cotangent)
        if weights.shape != y.shape:
            raise core.InvalidArgument(
                f"{self.who}: the cotangent must have the shape of f(input), {list(y.shape)}, "
                f"got {list(weights.shape)}"
            )
        return cast(weights, y.dtype.name)

    def function(self, config: GradCheckConfig) -> core.Function:
        """F for the native engine: in float64 where it can be."""
        return self.target.function(self.target.judged_in(config.shadow))

    def claimed(self, gradient: Any) -> Array:
        """A gradient of the user's as an array of the shape of the input."""
        if gradient is None:
            raise core.InvalidArgument(f"{self.who}: there is no gradient; call backward() first")
        claimed = np.asarray(_as_array(gradient))
        if claimed.dtype.kind not in "fiu" and claimed.dtype.name not in FLOATING:
            raise core.InvalidArgument(
                f"{self.who}: the gradient must be an array of real numbers, got "
                f"{claimed.dtype.name} {list(claimed.shape)}"
            )
        if claimed.shape != self.value.shape:
            raise core.InvalidArgument(
                f"{self.who}: the gradient must have the shape of the input, "
                f"{list(self.value.shape)}, got {list(claimed.shape)}"
            )
        return claimed

    def refusal(self, gradient: Any) -> GradCheckResult | None:
        """FAIL of a gradient whose dtype holds less than that of the input; None of others.

        Numbers and lists have no dtype, and a wider one has lost nothing.
        """
        dtype, own = _dtype_of(gradient), self.target.dtype
        if dtype is None or dtype == own or _BITS.get(dtype, 0) > _BITS[own]:
            return None
        base = GradCheckResult(
            self.who, tuple(self.value.shape), own, self.target.place, "full", Verdict.FAIL
        )
        text = f"the gradient must have the dtype of the input, {own}, got {dtype}"
        return assemble.refused(base, Reason.WRONG_DTYPE, text)

    def judge(self, gradient: Array, config: GradCheckConfig) -> GradCheckResult:
        """The verdict from error bars.

        A gradient that has the bits of the framework's own is judged with it: also for other
        cotangents, and at points nearby.
        """
        given = judge_array(self.target, gradient, self.cotangent, self.who, config)
        if self._changed and config.audits:
            return assemble.refused(given, Reason.INPUT_CHANGED, self._changed[0])
        if gradient.size == 0 or not self._is_own(gradient):
            if self._draws:
                return self._undecided(given)
            apart = self._apart()
            detail = f"f is random: {apart:.3g} apart in 2 runs at the same point"
            return assemble.undecided(given, Reason.STOCHASTIC, detail) if apart else given
        return _together(given, run_check(self.target, config))

    def _apart(self) -> float:
        """By how much a second run of f differs from the first; 0 for what may be rounding."""
        calls, dtype = Calls(self.target), self.target.dtype
        (y,) = calls.forward(dtype)
        first, second = flat([self._output]), flat([y])
        if first.shape != second.shape:
            return float("inf")
        with np.errstate(invalid="ignore"):
            apart = float(np.max(np.abs(first - second), initial=0.0))
        size = float(np.max(np.abs(first), initial=0.0))
        return apart if apart > core.unit_roundoff(dtype) ** 0.5 * size else 0.0

    @property
    def _draws(self) -> bool:
        return bool(getattr(self.target, "draws", False))

    def _undecided(self, given: GradCheckResult) -> GradCheckResult:
        detail = (
            "f draws random numbers, others than those of the gradient; give its operators a seed, "
            "or calculate the gradient inside `with eager.same_numbers()`"
        )
        return assemble.undecided(given, Reason.STOCHASTIC, detail)

    def _is_own(self, gradient: Array) -> bool:
        if not self._has_gradient:
            return False
        dtype = self.target.dtype
        (own,) = self.target.vjp([self.value.copy()], [self.cotangent.copy()], dtype)
        return own.dtype == gradient.dtype and np.array_equal(own, gradient, equal_nan=True)


def _target(f: Function, input: Any, who: str) -> tuple[Target, bool]:
    """The function as a target, and whether that has a gradient of its own."""
    own = own_target(f, [input], who)
    if own is not None:
        return own, True
    if framework_of(f, [input]) == "numpy":
        return callable_target(f, [np.asarray(input)], vjp=_no_gradient, name=who), False
    return callable_target(f, [input], name=who), True


def _dtype_of(gradient: Any) -> str | None:
    """The name of a tensor's dtype, whatever its framework."""
    dtype = getattr(gradient, "dtype", None)
    return None if dtype is None else str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def _as_array(gradient: Any) -> Any:
    """A gradient as NumPy takes it: of PyTorch's tensors only some are taken as they are."""
    if framework_of(None, [gradient]) != "torch":
        return gradient
    dense = gradient.detach().cpu().resolve_neg()
    return dense.float().numpy() if "bfloat16" in str(dense.dtype) else dense.numpy()


def _no_gradient(x: Array, *vs: Array) -> Array:
    return np.zeros_like(x)


def like(input: Any, gradient: Array) -> Any:
    """A float64 gradient as what the input is: a Tensor for a Tensor."""
    made: Any = type(input)
    return made(gradient) if isinstance(input, TensorWithTarget) else gradient


def _together(given: GradCheckResult, report: GradCheckReport) -> GradCheckResult:
    """What is known of a gradient from itself and from the check of how it is calculated.

    The check decides, if it can: it knows the rounding of the gradient code, where the gradient
    itself only tells that of its dtype.
    """
    verdict = report.verdict
    if verdict is Verdict.INCONCLUSIVE and given.verdict is Verdict.PASS:
        return given
    everything: list[GradCheckResult | Audit] = [*report.results, *report.audits]
    to_blame = [part for part in everything if part.verdict is verdict is not Verdict.PASS]
    reasons: dict[Reason, None] = {}
    for part in to_blame:
        found = (part.reason,) if isinstance(part, Audit) else part.reasons
        reasons.update(dict.fromkeys(reason for reason in found if reason is not None))
    errors = given.element_errors
    if verdict is Verdict.PASS and errors is not None:
        errors = tuple(replace(error, verdict=Verdict.PASS) for error in errors)
        errors = errors if len(errors) == given.num_elements else None
    passed = given.num_elements if verdict is Verdict.PASS else given.num_passed
    return replace(
        given,
        verdict=verdict,
        reasons=tuple(reasons),
        num_passed=passed,
        element_errors=errors,
        resolution=max(result.resolution for result in report.results),
        min_detectable_99=max(result.min_detectable_99 for result in report.results),
        num_forward=given.num_forward + sum(result.num_forward for result in report.results),
        num_backward=sum(result.num_backward for result in report.results),
        seconds=given.seconds + sum(result.seconds for result in report.results),
        detail="; ".join(part.detail for part in to_blame if part.detail),
    )
