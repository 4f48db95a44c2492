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
from fluidcore.gradcheck.target.calls import flat
from fluidcore.gradcheck.target.target import Array, Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict

Cotangent: TypeAlias = "Sequence[Array]"


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
        cotangents: Those of `first`, and of `second` if there is one; one number of an output
            stands for all.
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
    found = core.check_linear(
        related,
        relation.factor,
        dtype=relation.dtype,
        points=[part.value for part in session.target.inputs],
        spreads=[float(np.max(spread, initial=0.0)) for spread in noise.backward],
        tolerance=session.config.tolerance or 0.0,
        weight=lambda: sum(_weight(session, v) for v in relation.cotangents()),
        cotangents=relation.cotangents,
        at=relation.at,
        seed=session.engine_seed,
    )
    texts: dict[Verdict, str] = {}
    for part, worst in zip(session.target.inputs, found, strict=True):
        if worst is not None:
            text = f"element {worst.element} of '{part.name}' is {worst.found:.9g}"
            texts.setdefault(Verdict(worst.verdict), f"{text}, not {worst.expected:.9g}")
    if Verdict.FAIL in texts:
        return Audit(relation.name, Verdict.FAIL, Reason.NOT_LINEAR, texts[Verdict.FAIL])
    if Verdict.INCONCLUSIVE in texts:
        text = f"{texts[Verdict.INCONCLUSIVE]}, which may be rounding"
        return Audit(relation.name, Verdict.INCONCLUSIVE, Reason.NOISE, text)
    text = "" if relation.rounds else texts.get(Verdict.PASS, "")
    return Audit(relation.name, Verdict.PASS, None, text)


def _weight(session: Session, v: Cotangent) -> float:
    """The sum of the absolute values of the outputs, weighted with a cotangent."""
    terms = flat(session.expanded(v)) * flat(session.outputs)
    return float(np.sum(np.abs(terms, out=terms)))
