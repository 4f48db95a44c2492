"""How an input is looked at, and which of its elements."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from fluidcore.gradcheck.measure.flags import Indices
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.random_numbers import stream

Mode: TypeAlias = Literal["full", "coloured", "directional"]


def columns_of(elements: Indices, size: int) -> Indices | slice:
    """What picks elements of an input of that size out of an array: all of them without a copy."""
    return slice(None) if elements.size == size else elements


def choose(session: Session, k: int) -> Mode:
    """How input `k` is looked at.

    What "coloured" cannot do, for an input that promises nothing or of which only a part is
    wanted, is done as "auto" would do it.
    """
    config, part = session.config, session.target.inputs[k]
    size = part.value.size
    wanted = size if config.subset is None else min(size, config.subset)
    whole = wanted == size
    if config.mode in ("full", "directional"):
        return config.mode
    if config.mode == "coloured" and part.rows > 1 and whole:
        return "coloured"
    if wanted <= config.n_full:
        return "full"
    if whole and part.rows and size // part.rows <= config.n_full:
        return "coloured"
    return "directional"


def elements_of(session: Session, k: int) -> Indices:
    """Those of input `k` that are judged one by one: all, or a random part."""
    part, subset = session.target.inputs[k], session.config.subset
    if subset is None or subset >= part.value.size:
        return np.arange(part.value.size, dtype=np.int64)
    random = stream(session.config.seed, part.name, "subset")
    chosen: Indices = np.sort(random.choice(part.value.size, subset, replace=False))
    return chosen.astype(np.int64)
