"""Derivatives along random directions: for inputs with too many elements to look at each."""

from __future__ import annotations

from dataclasses import dataclass

from fluidcore import core
from fluidcore.gradcheck.measure.confirm import noise_floor
from fluidcore.gradcheck.measure.judge import LATE, Judgement, Reference
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.gradcheck.verdict import Verdict


@dataclass(frozen=True)
class Directional:
    """What the directions showed.

    Attributes:
        judgement: [1, probes]: its "elements" are the directions.
        min_detectable_99: The error of a single element that is found with a probability of 99 %,
            relative to the root mean square of the gradient.
        failure: The first exception of f at a moved point.
        culprits: Wrong elements, and the judgement of each of them: found after a failure.
    """

    judgement: Judgement
    min_detectable_99: float
    failure: str | None
    culprits: tuple[tuple[int, Judgement], ...] = ()


def check_directions(session: Session, k: int, noise: Doubles | None) -> Directional:
    """Compares ⟨A(v), d⟩ with differences, for `probes` pairs of Gaussian v and d."""
    probes, dtype = range(session.config.probes), session.dtype
    floor = noise_floor(session, noise)
    found = core.check_directions(
        session.function,
        k,
        # One by one: the engine keeps what it takes.
        (session.direction(k, probe) for probe in probes),
        (session.weights(probe) for probe in probes),
        (session.gradients(probe, dtype)[k] for probe in probes),
        session.rules,
        alone=dtype if session.alone else None,
        noise=floor.near,
        far_noise=floor.far,
        seed=session.engine_seed,
        workers=session.workers,
    )
    session.calls.forwards += found.evaluations
    session.keep_trace(k, found.reference)

    def judged(judgement: core.Judgement, reference: core.Derivatives) -> Judgement:
        kept = Reference.of(reference)
        return Judgement(judgement, kept, judgement.limit)

    judgement = judged(found.judgement, found.reference)
    if session.late and not found.culprits and judgement.verdict is not Verdict.PASS:
        judgement = judgement.opened(judgement.wrong | judgement.unsure, flag=LATE)
    culprits = tuple((i, judged(one, reference)) for i, reference, one in found.culprits)
    failure = found.reference.failure
    return Directional(judgement, found.min_detectable_99, failure, culprits)
