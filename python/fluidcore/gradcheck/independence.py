"""Whether f does not depend on an input at all, though every small step seems to change it.

A bias in front of a batch normalization is such an input: its derivative is 0, and what the steps
see is rounding, which grows as they shrink, and so looks like a kink or a jump.
"""

from __future__ import annotations

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.target import Doubles

_LARGEST_STEPS = 3


def largest_slope(session: Session, k: int, noise: Doubles | None) -> Doubles:
    """[r, 1]: how steep f can be by one element of input `k`, as large steps of all of them show.

    Where f is as good as constant along a random direction that moves all elements, it is so along
    each.

    Args:
        session: The check.
        k: Of the input.
        noise: Of the outputs.
    """
    d = session.direction(k, 0)
    size = float(np.sqrt(np.mean(d * d)))
    slopes = []
    for row in range(session.num_cotangents):
        found = core.differentiate_along(
            session.function, session.along(k, d), [session.weights(row)], noise=noise, trace=True
        )
        session.calls.forwards += found.evaluations
        levels = found.levels[:_LARGEST_STEPS]
        moves = [
            max(abs(plus - start), abs(minus - start)) / h for h, _, _, plus, minus, start in levels
        ]
        slopes.append(max(moves, default=float("inf")) / size)
    return np.array(slopes)[:, None]
