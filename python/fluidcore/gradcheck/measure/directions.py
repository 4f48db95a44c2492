"""Derivatives along random directions: for inputs with too many elements to look at each."""

from __future__ import annotations

from fluidcore import core
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.target import Doubles


def check_directions(session: Session, k: int, noise: Doubles | None) -> core.Directional:
    """Compares ⟨A(v), d⟩ with differences, for `probes` pairs of Gaussian v and d."""
    probes, dtype = range(session.config.probes), session.dtype
    found = core.check_directions(
        session.function,
        k,
        # One by one: the engine keeps what it takes.
        (session.direction(k, probe) for probe in probes),
        (session.weights(probe) for probe in probes),
        (session.gradients(probe, dtype)[k] for probe in probes),
        session.rules,
        alone=dtype if session.alone else None,
        gradient=session.native_gradient,
        noise=session.noise_floor(noise),
        seed=session.engine_seed,
        workers=session.workers,
    )
    session.calls.forwards += found.evaluations
    session.keep_trace(k, found.reference)
    return found
