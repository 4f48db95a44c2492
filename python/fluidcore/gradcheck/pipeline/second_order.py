"""The gradient of the gradient, from differences of the first one.

They are more exact than second differences of f: the first gradient must have passed, and its
rounding error is divided by a step only once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.measure.flags import has_kink
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.pipeline import assemble
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult
from fluidcore.gradcheck.target.calls import Noted, cast, flat, size_of
from fluidcore.gradcheck.target.gradient_target import (
    GradientTarget,
    HasSecondOrder,
    NoSecondGradientError,
)
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.target import Array, Doubles, Rounding, Target
from fluidcore.gradcheck.verdict import Reason, Verdict

_SYMMETRY = 1e-9
_LABEL = "second order"
_ROUNDING = 16  # units of f / x that a gradient of 0 may have


def check_second_order(
    session: Session,
    first: Sequence[GradCheckResult],
    run_check: Callable[[Target, GradCheckConfig], GradCheckReport],
) -> tuple[GradCheckResult, ...]:
    """Checks the second gradient where the target has one, and that the Hessian is symmetric.

    Args:
        session: Of the first order.
        first: What was found there.
        run_check: Checks the gradient as a function of its own.
    """
    hindrance = _hindrance(session, first)
    if hindrance is not None:
        return (assemble.undecided(_blank(session, _LABEL), *hindrance),)
    try:
        return _checked(session, run_check)
    except core.OutOfTime:
        return (assemble.late(_blank(session, _LABEL)),)


def _checked(
    session: Session, run_check: Callable[[Target, GradCheckConfig], GradCheckReport]
) -> tuple[GradCheckResult, ...]:
    rounding = _rounding_of_zero(session)
    try:
        count = _count_gradients(session)
    except NoSecondGradientError as missing:
        return _without(session, _symmetry(session, rounding), missing)
    second = _second(session, run_check, count > len(session.target.inputs), rounding)
    symmetry = _symmetry(session, rounding)
    passed = all(result.verdict is Verdict.PASS for result in second)
    if passed and symmetry.verdict is Verdict.INCONCLUSIVE:
        symmetry = _symmetry_of_claim(session, symmetry)
    return (*second, symmetry)


def _hindrance(session: Session, first: Sequence[GradCheckResult]) -> tuple[Reason, str] | None:
    """Why the gradient cannot be differentiated at all."""
    for fault in session.calls.faults.values():
        return fault.reason, f"the gradient itself has the wrong form: {fault.detail}"
    for result in first:
        for reason in result.reasons:
            alone = len(result.reasons) == 1 and result.verdict is Verdict.INCONCLUSIVE
            if reason in (Reason.STOCHASTIC, Reason.NON_FINITE) or (
                alone and reason is Reason.DOMAIN and result.num_elements == 0
            ):
                return reason, f"the first order could not be judged: {result.detail}"
    return None


def _rounding_of_zero(session: Session) -> Rounding | None:
    """That of gradients which may be nothing but rounding; None if there are none.

    What is left of terms that cancel, as in x / x, is as large as the rounding of f over x, however
    small it is itself.
    """
    weight = float(np.sum(np.abs(session.weights(0) * flat(session.outputs))))
    unit = _ROUNDING * weight
    gradients = session.gradients(0, session.dtype)
    values = [part.value for part in session.target.inputs]
    zero = [
        float(np.max(np.abs(gradient), initial=0.0)) <= UNIT[session.dtype] * unit / size_of(x)
        for gradient, x in zip(gradients, values, strict=True)
    ]
    if unit == 0 or not any(zero):
        return None
    noise = [
        unit / _sizes(x) if is_zero else np.zeros(x.size)
        for x, is_zero in zip(values, zero, strict=True)
    ]
    total = sum(float(np.sum(one)) for one in noise)
    every = [*values, *session.cotangent(0)]
    return Rounding(np.concatenate(noise), [total / _sizes(value) for value in every])


def _sizes(value: Array) -> Doubles:
    """[n], of each element, that of the whole for a 0."""
    x = np.abs(np.asarray(value).astype(np.float64)).reshape(-1)
    return np.where(x == 0, size_of(value), x)


def _count_gradients(session: Session) -> int:
    """How many gradients the second gradient has: by the inputs, and perhaps by the cotangents."""
    target, dtype = session.target, session.dtype
    if not isinstance(target, HasSecondOrder):
        raise NoSecondGradientError(f"{target.who} has no second gradient")
    xs = session.calls.point(dtype)
    vs = [cast(v, dtype) for v in session.cotangent(0)]
    with Noted(target.who, "the second gradient", target.inputs):
        return len(target.second_vjp(xs, vs, [np.ones_like(x) for x in xs], dtype))


def _without(
    session: Session, symmetry: GradCheckResult, missing: NoSecondGradientError
) -> tuple[GradCheckResult, ...]:
    text = f"only the symmetry was checked: {missing}"
    symmetry = replace(symmetry, detail="; ".join(filter(None, [symmetry.detail, text])))
    if not missing.is_promised:
        return (symmetry,)
    absent = assemble.undecided(_blank(session, _LABEL), Reason.NO_SECOND, str(missing))
    return absent, symmetry


def _second(
    session: Session,
    run_check: Callable[[Target, GradCheckConfig], GradCheckReport],
    by_cotangents: bool,
    rounding: Rounding | None,
) -> list[GradCheckResult]:
    if rounding is not None and not by_cotangents:
        rounding = replace(rounding, gradients=rounding.gradients[: len(session.target.inputs)])
    target = GradientTarget(session.target, session.cotangent(0), by_cotangents, rounding)
    audits = session.config.audits and rounding is None  # rounding is not linear
    config = replace(session.config, second_order=False, audits=audits, device="cpu")  # it is there
    report = run_check(target, config)
    results = [_named(one, session.target) for one in report.results]
    for audit in report.audits:
        if audit.verdict is Verdict.FAIL and audit.reason is not None:
            text = "; ".join(filter(None, [audit.name, audit.detail]))
            results.append(assemble.refused(_blank(session, _LABEL), audit.reason, text))
    return results


def _named(result: GradCheckResult, target: Target) -> GradCheckResult:
    result = replace(result, name=f"{result.name}, {_LABEL}")
    note = getattr(target, "second_note", "")
    if not note or result.verdict is Verdict.PASS:
        return result
    return replace(result, detail="; ".join(filter(None, [result.detail, note])))


def _blank(session: Session, name: str) -> GradCheckResult:
    base = assemble.blank(session.target, 0, session.dtype, "directional")
    return replace(base, name=name, shape=())


def _symmetry(session: Session, rounding: Rounding | None) -> GradCheckResult:
    """⟨u, Hw⟩ against ⟨w, Hu⟩: H is a matrix of second derivatives, whatever f is."""
    target = GradientTarget(session.target, session.cotangent(0))
    base = _blank(session, "symmetry of the Hessian")
    pairs = _directions(session)
    function = target.function(session.dtype)
    noise = None if rounding is None else UNIT[session.dtype] * rounding.outputs
    found = []
    for along, other in (pairs, pairs[::-1]):
        derivatives = core.differentiate_along(function, along, [flat(other)], noise=noise)
        session.calls.backwards += derivatives.evaluations
        found.append(derivatives)
    first, second = found
    error = first.error + np.where(has_kink(second.flags), np.inf, second.error)
    scale = np.maximum(first.scale, second.scale)
    reference = core.Derivatives(
        first.value, error, first.low, first.high, scale, first.flags | second.flags
    )
    part = _SYMMETRY if session.dtype == "float64" else session.rules.resolution
    judgement = core.judge(reference, second.value, part * scale, session.rules)
    result = assemble.of_elements(
        base,
        judgement,
        reference,
        np.zeros(1, dtype=np.int64),
        failing=Reason.MISMATCH,
        verbose=session.config.verbose,
    )
    if result.verdict is not Verdict.FAIL:
        return result
    detail = f"⟨u, Hw⟩ is {first.value[0, 0]:.9g}, ⟨w, Hu⟩ is {second.value[0, 0]:.9g}"
    return replace(result, detail=f"the gradient is that of no function: {detail}")


def _symmetry_of_claim(session: Session, doubtful: GradCheckResult) -> GradCheckResult:
    """The same with the second gradient, which is proven element by element.

    Along a direction all elements move at once, and near a kink or a jump of any of them there may
    be nothing to see.
    """
    target, dtype = session.target, session.dtype
    assert isinstance(target, HasSecondOrder)
    xs = session.calls.point(dtype)
    vs = [cast(v, dtype) for v in session.cotangent(0)]
    u, w = _directions(session)
    products, size = [], 0.0
    for one, other in ((u, w), (w, u)):
        found = target.second_vjp(xs, vs, [cast(d, dtype) for d in one], dtype)
        terms = flat(found[: len(xs)]) * flat(other)
        products.append(float(np.sum(terms)))
        size = max(size, float(np.sum(np.abs(terms))))
    part = _SYMMETRY if dtype == "float64" else session.rules.resolution
    if not abs(products[0] - products[1]) <= part * size:
        return doubtful
    text = "decided by the second gradient: differences along a direction meet kinks or jumps"
    return replace(
        doubtful, verdict=Verdict.PASS, reasons=(), num_passed=1, detail=text, resolution=part
    )


def _directions(session: Session) -> list[list[Array]]:
    """Two random directions in the space of all inputs."""
    parts = list(enumerate(session.target.inputs))
    return [
        [session.direction(k, probe).reshape(part.value.shape) for k, part in parts]
        for probe in (0, 1)
    ]
