"""Checks that need no differences: exact, or nearly so, and cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.measure.noise import Noise, ulps
from fluidcore.gradcheck.measure.session import FACTOR, Added, Session, added, apart
from fluidcore.gradcheck.pipeline.linearity import Cotangent, Related, Relation, compare
from fluidcore.gradcheck.report.data import Audit
from fluidcore.gradcheck.target.strides import with_gaps
from fluidcore.gradcheck.target.target import Array, Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict

_GAPS = "the same gradient for a cotangent that is not contiguous"
_EXPANDED = "the same gradient for an expanded cotangent"


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
        found.extend(_Forms(session, noise).audits())
    found.append(unchanged(session))
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
    for part, runs in zip(session.target.inputs, noise.gradients, strict=bool(noise.gradients)):
        if runs.repeats:
            continue
        by = ulps(runs, session.dtype)
        details.append(f"the gradient by '{part.name}' varies by {by:.2g} ulps of its largest")
        if not runs.is_rounding(session.dtype):
            verdict, reason = Verdict.FAIL, Reason.NOT_REPEATABLE
    return Audit(name, verdict, reason, "; ".join(details))


def _linear(session: Session, noise: Noise) -> Iterator[Audit]:
    """A gradient is linear in its cotangent, whatever f is."""
    for dtype in dict.fromkeys((session.dtype, session.target.dtype)):
        name = f"no gradient without a cotangent, {dtype}"
        if session.vanishes(dtype):
            yield Audit(name, Verdict.PASS)
        else:
            yield _scaled(session, noise, name, dtype, 0.0)
        name = f"minus a 64th of the gradient for minus a 64th of the cotangent, {dtype}"
        known = session.scaled(dtype)
        if known.is_exact:
            yield Audit(name, Verdict.PASS)
        else:
            yield _scaled(session, noise, name, dtype, FACTOR, known.gradients)


def _scaled(
    session: Session,
    noise: Noise,
    name: str,
    dtype: str,
    factor: float,
    known: Sequence[Doubles] | None = None,
) -> Audit:
    """`factor` is exact, and so is every product with it: no digit of linear code differs."""
    v = session.cotangent(0)

    def scaled(w: Cotangent) -> list[Doubles]:
        return session.gradient_of([factor * x for x in w], dtype)

    def at(cotangents: Sequence[Cotangent]) -> Related:
        (w,) = cotangents
        return Related(scaled(w), session.gradient_of(w, dtype))

    relation = Relation(name, dtype, lambda: [v], at, factor, rounds=False)
    related = Related(known or scaled(v), session.gradients(0, dtype))
    return compare(session, noise, relation, related)


class _Forms:
    """One cotangent has one gradient, in whatever form a framework hands it over.

    One run may tell of a form and of a sum at once, if it is right.
    """

    def __init__(self, session: Session, noise: Noise) -> None:
        self._session = session
        self._noise = noise
        self._dtype = session.dtype

    @property
    def _v(self) -> list[Array]:
        kind = numpy_dtype(self._dtype)
        return [v.astype(kind, copy=False) for v in self._session.cotangent(0)]

    def audits(self) -> Iterator[Audit]:
        """Of a sum, and of each form that there is."""
        session = self._session
        known, session.added = session.added, None  # as large as two gradients
        shared = self._adds_up(known) if known else None
        del known
        is_right = shared is not None and shared.verdict is Verdict.PASS
        yield shared if shared and is_right else self._adds_up()
        if session.has_forms:
            if is_right:
                yield Audit(self._named(_GAPS), Verdict.PASS)
                yield Audit(self._named(_EXPANDED), Verdict.PASS)
            else:
                first = session.gradients(0, self._dtype)
                yield self._alike(_GAPS, self._v, lambda v: [with_gaps(part) for part in v], first)
                equal = session.second_cotangent(equal=True)
                yield self._alike(_EXPANDED, equal, lambda v: v)
        if session.target.is_called_by_autograd and len(self._v) > 1:
            yield from self._alone()

    def _alone(self) -> Iterator[Audit]:
        for j, v in enumerate(self._v):
            zeros = [w if i == j else np.zeros_like(w) for i, w in enumerate(self._v)]
            name = f"the same gradient if only output {j} is used"

            def form(v: Cotangent, j: int = j) -> Sequence[Array | None]:
                return [part if i == j else None for i, part in enumerate(v)]

            yield self._alike(name, zeros, form)

    def _named(self, name: str) -> str:
        return f"{name}, {self._dtype}"

    def _gradient(self, cotangent: Sequence[Array | None]) -> list[Doubles]:
        return self._session.calls.gradient(cotangent, self._dtype)

    def _alike(
        self,
        name: str,
        v: Cotangent,
        form: Callable[[Cotangent], Sequence[Array | None]],
        plain: Sequence[Doubles] | None = None,
    ) -> Audit:
        """Whether a cotangent in some form has the gradient that it has as an array."""
        named = self._named(name)

        def as_arrays(w: Cotangent) -> list[Doubles]:
            return self._gradient([part.copy() for part in w])

        def at(cotangents: Sequence[Cotangent]) -> Related:
            (w,) = cotangents
            w = self._session.expanded(w)
            return Related(self._gradient(form(w)), as_arrays(w))

        expanded = self._session.expanded(v)
        plain = as_arrays(expanded) if plain is None else plain
        try:
            related = Related(self._gradient(form(expanded)), plain)
        except Exception as error:
            text = f"it raises {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            return Audit(named, Verdict.FAIL, Reason.COTANGENT, text)
        relation = Relation(named, self._dtype, lambda: [v], at)
        audit = compare(self._session, self._noise, relation, related)
        failed = audit.verdict is Verdict.FAIL
        return audit._replace(reason=Reason.COTANGENT) if failed else audit

    def _adds_up(self, known: Added | None = None) -> Audit:
        """Whether the gradient of v + w is that of v and that of w."""
        session, equal = self._session, known is not None and self._session.has_forms
        if known is None:
            w = session.second_cotangent()
            known = Added(self._gradient(w), self._gradient(session.with_first(w)))

        def at(cotangents: Sequence[Cotangent]) -> Related:
            v, w = cotangents
            total = added(v, w, self._dtype)
            rest = apart(total, v, self._dtype)
            return Related(self._gradient(total), self._gradient(v), self._gradient(rest))

        relation = Relation(
            self._named("the gradient of a sum is the sum"),
            self._dtype,
            lambda: [self._v, session.second_cotangent(equal=equal)],
            at,
        )
        first = session.gradients(0, self._dtype)
        return compare(session, self._noise, relation, Related(known.whole, first, known.part))
