"""Derivatives along random directions: for inputs with too many elements to look at each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.measure.confirm import confirm, confirm_probes, noise_floor
from fluidcore.gradcheck.measure.judge import KINK, Judgement, Reference, judge
from fluidcore.gradcheck.measure.modes import Indices
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.gradcheck.verdict import Verdict

_LEAF = 8  # elements that are looked at one by one
_CHECKS = 64  # directions that the search may take
_FOUND = 10  # wrong elements are enough


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
    config, dtype = session.config, session.dtype
    parts, gradients, failure = [], [], None
    floor = noise_floor(session, noise).widest
    for probe, found in enumerate(session.probed(k, floor)):
        gradient, d = session.gradients(probe, dtype)[k], session.direction(k, probe)
        parts.append(_scaled(Reference.of(found), gradient * d))
        gradients.append(float(gradient @ d))
        failure = failure or found.failure
    reference = Reference.joined(parts)
    analytical = np.array([gradients])
    judgement = judge(reference, analytical, _tolerance(session, reference), session.rules)
    judgement = confirm_probes(session, k, judgement, noise)
    size = float(np.sqrt(np.mean(session.gradients(0, dtype)[k] ** 2)))
    limit = float(np.max(judgement.limit)) / blind_spot(config.probes)
    detectable = limit / size if size > 0 else float("inf")
    culprits: tuple[tuple[int, Judgement], ...] = ()
    if judgement.wrong.any():
        probe = int(np.argmax(np.where(judgement.wrong, judgement.excess, -1.0)[0]))
        culprits = tuple(_search(session, k, probe, floor))
        if not culprits:
            # Of several elements at kinks each may have a slope of its own choice, and their
            # sum need not lie between the two slopes along a direction.
            judgement = judgement.left_open(KINK)
    return Directional(judgement, detectable, failure, culprits)


def blind_spot(probes: int) -> float:
    """An error of limit / blind_spot escapes all of `probes` Gaussian directions in 1 % of cases.

    0.0125, 0.126, 0.273, 0.407 for 1 to 4.
    """
    return NormalDist().inv_cdf((1 + 0.01 ** (1 / probes)) / 2)


def _along(
    session: Session, k: int, d: Doubles, probe: int, noise: Doubles | None
) -> tuple[Reference, str | None]:
    directions = session.along(k, d)
    weights = [session.weights(probe)]
    found = core.differentiate_along(session.function, directions, weights, noise=noise)
    session.calls.forwards += found.evaluations
    return Reference.of(found), found.failure


def _scaled(found: Reference, terms: Doubles) -> Reference:
    return found.replaced(scale=np.full_like(found.scale, np.sum(np.abs(terms))))


def _tolerance(session: Session, reference: Reference) -> Doubles:
    if session.alone:
        return reference.native.alone_tolerance(session.dtype)
    return 1e-9 * reference.scale


def _search(
    session: Session, k: int, probe: int, noise: Doubles | None
) -> Iterator[tuple[int, Judgement]]:
    """Halves the elements again and again, and follows the halves that are wrong."""
    gradient = session.gradients(probe, session.dtype)[k]
    d = session.direction(k, probe)
    pending: list[Indices] = [np.arange(gradient.size, dtype=np.int64)]
    found = checks = 0
    while pending and checks < _CHECKS and not session.late:
        group = pending.pop()
        if group.size <= _LEAF:
            for pair in _wrong_of(session, k, probe, group, noise):
                found += 1
                yield pair
                if found == _FOUND:
                    return
            continue
        for half in (group[group.size // 2 :], group[: group.size // 2]):
            masked = np.zeros_like(d)
            masked[half] = d[half]
            checks += 1
            reference, _ = _along(session, k, masked, probe, noise)
            reference = _scaled(reference, gradient * masked)
            claimed = np.array([[gradient @ masked]])
            tolerance = _tolerance(session, reference)
            if judge(reference, claimed, tolerance, session.rules).verdict is Verdict.FAIL:
                pending.append(half)


def _wrong_of(
    session: Session, k: int, probe: int, group: Indices, noise: Doubles | None
) -> Iterator[tuple[int, Judgement]]:
    found = core.differentiate(
        session.function,
        k,
        [session.weights(probe)],
        elements=group,
        noise=noise,
        workers=session.workers,
    )
    session.calls.forwards += found.evaluations
    gradient = session.gradients(probe, session.dtype)[k]
    reference = Reference.of(found)
    for j, i in enumerate(group):
        one = reference.only(j)
        claimed = gradient[i].reshape(1, 1)
        judgement = judge(one, claimed, _tolerance(session, one), session.rules)
        if judgement.verdict is Verdict.FAIL:
            judgement = confirm(session, k, judgement, group[j : j + 1], noise, probe=probe)
        if judgement.verdict is Verdict.FAIL:
            yield int(i), judgement
