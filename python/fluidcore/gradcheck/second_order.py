"""The gradient of the gradient, from differences of the first one.

They are more exact than second differences of f: the first gradient must have passed, and its
rounding error is divided by a step only once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fluidcore import core
from fluidcore.gradcheck import assemble
from fluidcore.gradcheck.calls import cast
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.judge import JUMP, KINK, Reference, judge
from fluidcore.gradcheck.result import GradCheckReport, GradCheckResult
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.target import Array, Target
from fluidcore.gradcheck.verdict import Reason, Verdict

_SYMMETRY = 1e-9


@runtime_checkable
class HasSecondOrder(Protocol):
    """A target that can differentiate its gradient."""

    def second_vjp(
        self, xs: Sequence[Array], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Array]:
        """The claimed gradient of Σ u·vjp(x, v) by every input, `v` held fixed."""


class GradientTarget(Target):
    """The gradient of a target, for one cotangent, as a function of the same inputs."""

    def __init__(self, first: Target, cotangent: Sequence[Array]) -> None:
        self.first = first
        self.cotangent = [np.array(v) for v in cotangent]
        self.who = f"the gradient of {first.who}"
        self.inputs = first.inputs
        self.dtype = first.dtype
        self.has_shadow = first.has_shadow
        self.place = first.place
        self.source = first.source
        self.repro = first.repro

    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        """The gradients by every input."""
        return list(self.first.vjp(xs, [cast(v, dtype) for v in self.cotangent], dtype))

    def vjp(self, xs: Sequence[Array], vs: Sequence[Array], dtype: str) -> list[Array]:
        """The claimed gradient of Σ v·gradient."""
        if not isinstance(self.first, HasSecondOrder):
            raise core.InvalidArgument(f"{self.who}: {self.first.who} has no second gradient")
        weights = [cast(v, dtype) for v in self.cotangent]
        return list(self.first.second_vjp(xs, weights, vs, dtype))

    def function(self, dtype: str) -> core.Function:
        """The gradients, for the engine."""
        inputs = [cast(part.value, dtype) for part in self.inputs]

        def call(xs: list[Any]) -> list[Array]:
            return self.forward(xs, dtype)

        return core.CallableFunction(call, inputs)


def check_second_order(
    session: Session, run_check: Callable[[Target, GradCheckConfig], GradCheckReport]
) -> tuple[GradCheckResult, ...]:
    """Checks the second gradient where the target has one, and that the Hessian is symmetric.

    Args:
        session: Of the first order.
        run_check: Checks the gradient as a function of its own.
    """
    target = GradientTarget(session.target, session.cotangent(0))
    results = []
    if isinstance(session.target, HasSecondOrder):
        config = replace(session.config, second_order=False)
        report = run_check(target, config)
        results = [replace(one, name=f"{one.name}, second order") for one in report.results]
        for audit in report.audits:
            if audit.verdict is Verdict.FAIL and audit.reason is not None:
                base = assemble.blank(session, 0, session.dtype, "full")
                base = replace(base, name="second order", shape=())
                results.append(assemble.refused(base, audit.reason, audit.detail))
    results.append(_symmetry(session, target))
    return tuple(results)


def _symmetry(session: Session, target: GradientTarget) -> GradCheckResult:
    """⟨u, Hw⟩ against ⟨w, Hu⟩: H is a matrix of second derivatives, whatever f is."""
    base = replace(
        assemble.blank(session, 0, session.dtype, "directional"), name="symmetry of the Hessian"
    )
    base = replace(base, shape=())
    pairs = []
    for probe in (0, 1):
        pairs.append([session.direction(k, probe) for k in range(len(target.inputs))])
    function = target.function(session.dtype)
    found = []
    for along, other in (pairs, pairs[::-1]):
        shaped = [d.reshape(part.value.shape) for d, part in zip(along, target.inputs, strict=True)]
        derivatives = core.differentiate_along(function, shaped, [np.concatenate(other)])
        session.calls.backwards += derivatives.evaluations
        found.append(Reference.of(derivatives))
    first, second = found
    at_kink = (second.flags & (KINK | JUMP)) != 0
    error = first.error + np.where(at_kink, np.inf, second.error)
    scale = np.maximum(first.scale, second.scale)
    reference = Reference(
        first.value, error, first.low, first.high, scale, first.flags | second.flags
    )
    part = _SYMMETRY if session.dtype == "float64" else session.rules.resolution
    judgement = judge(reference, second.value, part * scale, session.rules)
    result = assemble.of_elements(
        base,
        judgement,
        np.zeros(1, dtype=np.int64),
        failing=Reason.MISMATCH,
        verbose=session.config.verbose,
    )
    if result.verdict is not Verdict.FAIL:
        return result
    detail = f"⟨u, Hw⟩ is {first.value[0, 0]:.9g}, ⟨w, Hu⟩ is {second.value[0, 0]:.9g}"
    return replace(result, detail=f"the gradient is that of no function: {detail}")
