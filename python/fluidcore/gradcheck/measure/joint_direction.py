"""One direction of many inputs at once: where it agrees with all gradients, it proves them."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.gradcheck.measure.noise import Noise
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.calls import joined
from fluidcore.gradcheck.target.target import SHADOW


def prove(
    session: Session, inputs: Sequence[int], noise: Noise, by_element: Sequence[int] = ()
) -> dict[int, core.Proof]:
    """The inputs whose gradients are right, as directions of several of them show.

    Nothing is proven where f is not differentiated in float64, does not repeat itself, or may have
    no kink.

    Args:
        session: The check; all gradients are finite.
        inputs: The indices of those that are looked at along directions; if there are none, nothing
            is proven.
        noise: What was measured.
        by_element: Of those that are else looked at element by element: they are proven only where
            no error of an element escapes that such a look reports.
    """
    kinks = session.config.on_kink
    if session.dtype != SHADOW or noise.forward is not None or kinks != "subgradient":
        return {}
    if not inputs:
        return {}
    gradients = session.gradients(0, session.dtype)
    together = [*inputs, *by_element]
    found, evaluations = core.prove_jointly(
        session.function,
        together,
        [gradients[k] for k in together],
        joined(session.cotangent(0)),
        session.rules,
        by_element=set(by_element),
        probes=session.config.probes,
        seed=session.engine_seed,
        levels=session.config.levels,
    )
    session.calls.forwards += evaluations
    return found
