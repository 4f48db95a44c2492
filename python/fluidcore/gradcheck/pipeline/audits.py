"""Checks that need no differences: exact, or nearly so, and cheap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.report.data import Audit
from fluidcore.gradcheck.target.calls import cast, flat, size_of
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.strides import expanded, with_gaps
from fluidcore.gradcheck.target.target import Array, Doubles, Input
from fluidcore.gradcheck.verdict import Reason, Verdict

# How far sums may be apart that rounding alone tells apart, relative to the largest element.
_ROUNDING = {"float64": 1e-9, "float32": 1e-4, "float16": 0.05, "bfloat16": 0.3}


def audits(session: Session, noise: Noise) -> tuple[Audit, ...]:
    """All of them; those of the cotangent only where there is one to choose."""
    found = [_form(session)]
    finite = all(
        np.isfinite(part).all()
        for dtype in {session.dtype, session.target.dtype}
        for part in session.gradients(0, dtype)
    )
    found.append(_repeats(session, noise))
    if finite and not noise.stochastic and not session.target.fixed_cotangent:
        found.extend(_linear(session, noise))
        if session.target.is_called_by_autograd:
            found.extend(_forms(session, noise))
    found.append(unchanged(session))
    session.forget_doubled()
    return tuple(found)


def unchanged(session: Session) -> Audit:
    """Whether f and the gradient left their arguments alone, in all calls so far."""
    name, changed = "arguments unchanged", session.calls.changed
    if changed:
        return Audit(name, Verdict.FAIL, Reason.INPUT_CHANGED, "; ".join(changed))
    return Audit(name, Verdict.PASS)


def _form(session: Session) -> Audit:
    name = "shape and dtype"
    for dtype in (session.target.dtype, session.dtype):
        session.gradients(0, dtype)
    for (k, _), fault in sorted(session.calls.faults.items()):
        who = session.target.inputs[k].name
        return Audit(name, Verdict.FAIL, fault.reason, f"'{who}': {fault.detail}")
    return Audit(name, Verdict.PASS)


def _repeats(session: Session, noise: Noise) -> Audit:
    name = "repeatable"
    if noise.stochastic:
        return Audit(name, Verdict.INCONCLUSIVE, Reason.STOCHASTIC, noise.detail)
    details = [noise.detail] if noise.detail else []
    verdict, reason = Verdict.PASS, None
    if noise.repeats:
        return Audit(name, verdict, reason, noise.detail)
    for part, first, spread in zip(
        session.target.inputs, session.gradients(0, session.dtype), noise.backward, strict=True
    ):
        worst, size = float(np.max(spread, initial=0)), float(np.max(np.abs(first), initial=0))
        if not worst > 0:
            continue
        ulps = worst / (2 * UNIT[session.dtype] * size)
        details.append(f"the gradient by '{part.name}' varies by {ulps:.2g} ulps of its largest")
        if worst > _ROUNDING[session.dtype] * size:
            verdict, reason = Verdict.FAIL, Reason.NOT_REPEATABLE
    return Audit(name, verdict, reason, "; ".join(details))


def _linear(session: Session, noise: Noise) -> Iterator[Audit]:
    """A gradient is linear in its cotangent, whatever f is."""
    v = session.cotangent(0)
    for dtype in dict.fromkeys((session.dtype, session.target.dtype)):
        yield _zero(session, dtype)
        # The factors are exact, and so is every product with them: no digit may differ.
        once = session.gradients(0, dtype)
        name = f"twice the gradient for twice the cotangent, {dtype}"
        yield _compare(session, noise, name, session.doubled(dtype), [2.0 * a for a in once], v)
        name = f"minus the gradient for minus the cotangent, {dtype}"
        minus = session.gradient_of([-x for x in v], dtype)
        yield _compare(session, noise, name, minus, [-a for a in once], v)
    yield _sum(session, noise)


def _zero(session: Session, dtype: str) -> Audit:
    name = f"no gradient without a cotangent, {dtype}"
    zeros = [np.zeros_like(v) for v in session.cotangent(0)]
    for part, a in zip(session.target.inputs, session.gradient_of(zeros, dtype), strict=True):
        if a.any():
            i = int(np.argmax(a != 0))
            text = f"for v = 0 element {i} of '{part.name}' is {a[i]:.6g}"
            return Audit(name, Verdict.FAIL, Reason.NOT_LINEAR, text)
    return Audit(name, Verdict.PASS)


def _sum(session: Session, noise: Noise) -> Audit:
    name, dtype = f"the gradient of a sum is the sum, {session.dtype}", session.dtype
    v = session.cotangent(0)
    seed = session.config.seed
    w = [
        stream(seed, f"output {k}", "second cotangent").standard_normal(x.shape)
        for k, x in enumerate(v)
    ]
    # The sum must be one that the dtype holds.
    total = [cast(cast(a, "float64") + b, dtype) for a, b in zip(v, w, strict=True)]
    w = [cast(t, "float64") - cast(a, "float64") for t, a in zip(total, v, strict=True)]
    parts = zip(session.gradients(0, dtype), session.gradient_of(w, dtype), strict=True)
    expected = [a + b for a, b in parts]
    return _compare(session, noise, name, session.gradient_of(total, dtype), expected, v, w)


def _forms(session: Session, noise: Noise) -> Iterator[Audit]:
    """One cotangent has one gradient, in whatever form a framework hands it over."""
    dtype = session.dtype
    point, kind = session.calls.point(dtype), numpy_dtype(dtype)
    vs = [v.astype(kind) for v in session.cotangent(0)]

    def alike(name: str, given: Sequence[Array | None], plain: list[Doubles]) -> Audit:
        name = f"{name}, {dtype}"
        try:
            found = session.calls.gradient(point, given, dtype)
        except Exception as error:
            text = f"it raises {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            return Audit(name, Verdict.FAIL, Reason.COTANGENT, text)
        audit = _compare(session, noise, name, found, plain, vs)
        return audit._replace(reason=Reason.COTANGENT) if audit.reason else audit

    if any(v.size > 1 for v in vs):
        gaps = [with_gaps(v) for v in vs]
        name = "the same gradient for a cotangent that is not contiguous"
        yield alike(name, gaps, session.gradients(0, dtype))
        equal = [expanded(v) if v.size else v for v in vs]
        once = session.calls.gradient(point, [v.copy() for v in equal], dtype)
        yield alike("the same gradient for an expanded cotangent", equal, once)
    if len(vs) == 1:
        return
    for j, v in enumerate(vs):
        zeros = [w if i == j else np.zeros_like(w) for i, w in enumerate(vs)]
        once = session.calls.gradient(point, zeros, dtype)
        alone = [v if i == j else None for i in range(len(vs))]
        yield alike(f"the same gradient if only output {j} is used", alone, once)


def _compare(
    session: Session,
    noise: Noise,
    name: str,
    found: Sequence[Doubles],
    expected: Sequence[Doubles],
    *cotangents: Sequence[Array],
) -> Audit:
    dtype = name.rpartition(", ")[-1]
    rounds = "sum" in name or "same" in name
    details = []
    for k, (part, a, b) in enumerate(zip(session.target.inputs, found, expected, strict=True)):
        if np.array_equal(a, b):
            continue
        with np.errstate(invalid="ignore"):
            apart = np.abs(a - b)
            worst = float(apart.max())
            if not math.isfinite(worst):
                apart = np.where(np.isfinite(a) & np.isfinite(b), apart, 0.0)
                worst = float(apart.max())
        if worst == 0:
            continue
        i = int(np.argmax(apart))
        limit = _ROUNDING[dtype] * float(np.abs(b).max())
        # A gradient of 0 may be a difference of terms of the size of f over x.
        limit += _ROUNDING[dtype] * _height(session, part, *cotangents)
        limit += 8 * float(np.max(noise.backward[k], initial=0.0))
        text = f"element {i} of '{part.name}' is {a[i]:.9g}, not {b[i]:.9g}"
        if worst > limit:
            return Audit(name, Verdict.FAIL, Reason.NOT_LINEAR, text)
        details.append(text)
    return Audit(name, Verdict.PASS, None, "" if rounds else "; ".join(details[:1]))


def _height(session: Session, part: Input, *cotangents: Sequence[Array]) -> float:
    """The weighted outputs over x."""
    weight = sum(float(np.sum(np.abs(flat(v) * flat(session.outputs)))) for v in cotangents)
    return weight / size_of(part.value)
