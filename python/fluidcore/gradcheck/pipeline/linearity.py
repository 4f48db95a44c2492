"""What linearity makes of gradients for several cotangents, and whether they are that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.report.data import Audit
from fluidcore.gradcheck.target.calls import cast, flat
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict

Cotangent: TypeAlias = "Sequence[Array]"

_COPIES = 8


class Related(NamedTuple):
    """Gradients by all inputs, of which one should be factor * first + second."""

    found: Sequence[Doubles]
    first: Sequence[Doubles]
    second: Sequence[Doubles] | None = None


@dataclass(frozen=True)
class Relation:
    """A relation between gradients at the point.

    Attributes:
        name: Of the audit.
        dtype: That they are calculated in.
        cotangents: Those of `first`, and of `second` if there is one.
        at: The gradients for other cotangents in the place of these, in `dtype`.
        factor: Of `first`.
        rounds: Whether right gradients differ by rounding, which is not told of.
    """

    name: str
    dtype: str
    cotangents: Callable[[], Sequence[Cotangent]]
    at: Callable[[Sequence[Cotangent]], Related]
    factor: float = 1.0
    rounds: bool = True


def compare(session: Session, noise: Noise, relation: Relation, related: Related) -> Audit:
    """Whether gradients are related, given those for the cotangents themselves.

    What one cotangent refutes is measured again for copies of it. It fails if they refute it, too,
    and is open else.
    """
    worst = {
        k: found
        for k in range(len(session.target.inputs))
        if (found := _deviation(session, noise, relation, related, k)) is not None
    }
    wrong = {k: found for k, found in worst.items() if found.is_wrong}
    if not wrong:
        texts = [_text(session, k, found) for k, found in worst.items() if not relation.rounds]
        return Audit(relation.name, Verdict.PASS, None, "; ".join(texts[:1]))
    open_ = {k: found for k, found in wrong.items() if found.may_be_rounding}
    off = _off_for_copies(session, relation, open_)
    for k, found in wrong.items():
        if k not in open_ or core.is_fault(off[k], found.limit):
            text = _text(session, k, found)
            return Audit(relation.name, Verdict.FAIL, Reason.NOT_LINEAR, text)
    text = f"{_text(session, *next(iter(wrong.items())))}, which may be rounding"
    return Audit(relation.name, Verdict.INCONCLUSIVE, Reason.NOISE, text)


def _deviation(
    session: Session, noise: Noise, relation: Relation, related: Related, k: int
) -> core.Deviation | None:
    def off(weight: float = 0.0) -> core.Deviation | None:
        return core.deviation(
            related.found[k],
            related.first[k],
            relation.factor,
            None if related.second is None else related.second[k],
            dtype=relation.dtype,
            point=session.target.inputs[k].value,
            weight=weight,
            spread=0.0 if noise.repeats else float(np.max(noise.backward[k], initial=0.0)),
            tolerance=session.config.tolerance or 0.0,
        )

    worst = off()
    if worst is None or not worst.is_wrong:
        return worst
    return off(sum(_weight(session, v) for v in relation.cotangents()))


def _off_for_copies(
    session: Session, relation: Relation, deviations: dict[int, core.Deviation]
) -> dict[int, list[float]]:
    """By input: how far the element that deviates the most is off for each of the copies."""
    off: dict[int, list[float]] = {k: [] for k in deviations}
    cotangents = relation.cotangents() if deviations else []
    dither = session.copy_dither(relation.dtype) if deviations else 0.0
    for copy in range(_COPIES) if deviations else ():
        copies = [
            [
                _near(
                    v,
                    relation.dtype,
                    dither,
                    stream(session.config.seed, f"output {j}", f"dither, copy {copy} of {i}"),
                )
                for j, v in enumerate(vs)
            ]
            for i, vs in enumerate(cotangents)
        ]
        related = relation.at(copies)
        for k, known in deviations.items():
            i = known.element
            expected = relation.factor * related.first[k][i]
            if related.second is not None:
                expected += related.second[k][i]
            off[k].append(float(related.found[k][i] - expected))
    return off


def _near(v: Array, dtype: str, dither: float, numbers: np.random.Generator) -> Array:
    """Each number that is stored changed by up to a part of itself, and of `dtype`."""
    stored = v[tuple(slice(None if stride else 1) for stride in v.strides)]
    noise = numbers.uniform(-1.0, 1.0, stored.shape)
    near = cast(cast(stored, SHADOW) * (1 + dither * noise), dtype)
    return near if near.shape == v.shape else np.broadcast_to(near, v.shape)


def _text(session: Session, k: int, found: core.Deviation) -> str:
    name = session.target.inputs[k].name
    return f"element {found.element} of '{name}' is {found.found:.9g}, not {found.expected:.9g}"


def _weight(session: Session, v: Cotangent) -> float:
    """The sum of the absolute values of the outputs, weighted with a cotangent."""
    terms = flat(v) * flat(session.outputs)
    return float(np.sum(np.abs(terms, out=terms)))
