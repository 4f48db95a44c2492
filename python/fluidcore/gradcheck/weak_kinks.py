"""Kinks that are too weak to be seen beside the slope: looked for where a gradient seems wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fluidcore.gradcheck.judge import KINK, Judgement, Mask
from fluidcore.gradcheck.kinks import two_sides
from fluidcore.gradcheck.modes import Numerical
from fluidcore.gradcheck.session import Session
from fluidcore.gradcheck.target import Doubles

_LOOKED_AT = 8  # elements


def settle_weak_kinks(
    session: Session, k: int, judgement: Judgement, numerical: Numerical, noise: Doubles | None
) -> Judgement:
    """Says nothing about elements that seem wrong, but lie between two one-sided derivatives.

    At x = 0 the central difference of x + 1e-4 |x| is 1 at every step; so are 1 ± 1e-4 right.

    Args:
        session: The check.
        k: Of the input.
        judgement: [r, n].
        numerical: What it rests on.
        noise: Of the outputs.
    """
    wrong = np.flatnonzero(judgement.wrong.any(0) & ~judgement.at_kink)
    if session.rules.on_kink != "subgradient" or wrong.size == 0 or session.late:
        return judgement
    spread = np.linspace(0, wrong.size - 1, min(_LOOKED_AT, wrong.size)).astype(int)
    between = {
        int(j): at_weak_kink(session, k, int(numerical.elements[j]), judgement, int(j), noise)
        for j in wrong[spread]
    }
    weak = wrong if all(between.values()) else np.array([j for j in between if between[j]], int)
    if weak.size == 0:
        return judgement
    here = np.zeros(judgement.wrong.shape[1], dtype=np.bool_)
    here[weak] = True
    return with_kinks(judgement, here)


def with_kinks(judgement: Judgement, here: Mask) -> Judgement:
    """The judgement with kinks at some elements, [n], that are then not wrong, but open."""
    flags = np.where(here, judgement.reference.flags | KINK, judgement.reference.flags)
    return replace(
        judgement,
        reference=replace(judgement.reference, flags=flags.astype(np.uint8)),
        wrong=judgement.wrong & ~here,
        unsure=judgement.unsure | (judgement.wrong & here),
    )


def at_weak_kink(
    session: Session,
    k: int,
    element: int,
    judgement: Judgement,
    column: int,
    noise: Doubles | None,
    cotangent: int | None = None,
) -> bool:
    """Whether f has two slopes along an element, and what is claimed lies between them.

    Args:
        session: The check.
        k: Of the input.
        element: Its index.
        judgement: [r, n].
        column: Where the element is in it.
        noise: Of the outputs.
        cotangent: That of the only row; None: each row has its own.
    """
    d = np.zeros(session.target.inputs[k].value.size)
    d[element] = 1.0
    for row in np.flatnonzero(judgement.wrong[:, column]):
        sides = two_sides(session, k, d, int(row) if cotangent is None else cotangent, noise)
        if sides is None:
            return False
        claimed, limit = judgement.analytical[row, column], judgement.limit[row, column]
        if not sides.low - limit <= claimed <= sides.high + limit:
            return False
    return True
