"""The numerical derivatives of one input: element by element, or of many rows at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.gradcheck.measure.batches import batch_size, differentiate_batch
from fluidcore.gradcheck.measure.judge import LATE, Mask, Reference
from fluidcore.gradcheck.measure.session import Session
from fluidcore.gradcheck.target.random_numbers import stream
from fluidcore.gradcheck.target.target import SHADOW, Doubles

Mode: TypeAlias = Literal["full", "coloured", "directional"]
Indices: TypeAlias = NDArray[np.int64]

_CHUNK = 32  # elements between two looks at the clock


@dataclass(frozen=True)
class Numerical:
    """Derivatives by elements of an input.

    Attributes:
        reference: Of r cotangents by the elements.
        elements: [n], which.
        mode: "full" or "coloured".
        evaluations: Of f.
        failure: The first exception of f at a moved point.
    """

    reference: Reference
    elements: Indices
    mode: Mode
    evaluations: int = 0
    failure: str | None = None


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


def compare(session: Session, k: int, mode: Mode, noise: Doubles | None) -> Numerical | None:
    """The derivatives by input `k`; None if its rows turn out to depend on each other.

    Where the gradient agrees with one central difference of a small step, that is enough. What is
    left is extrapolated.

    Args:
        session: The check; its gradient is finite.
        k: Of the input.
        mode: "full" or "coloured".
        noise: [m], of the outputs, as far as runs at one point tell; None for rounding alone.
    """
    noise = session.inner_noise.at_least(noise).widest
    if session.dtype != SHADOW:
        return differentiate(session, k, mode, noise)
    if mode == "coloured":
        found = _by_row(session, k, noise, once=True)
    else:
        found = _by_element(session, k, _elements(session, k), noise, once=True)
    claimed = session.analytical(k, session.dtype)
    claimed = claimed[:, columns_of(found.elements, claimed.shape[1])]
    rest = ~core.agreement(found.reference.native, claimed)
    del claimed
    if rest.any() and mode == "coloured":
        found = _by_row_again(session, k, noise, found, rest)
    elif rest.any():
        later = _by_element(session, k, found.elements[rest], noise)
        found.reference.native.put(np.flatnonzero(rest), later.reference.native)
        evaluations = found.evaluations + later.evaluations
        found = replace(found, evaluations=evaluations, failure=later.failure)
    session.calls.forwards += found.evaluations
    return _kept(session, k, found, noise)


def differentiate(session: Session, k: int, mode: Mode, noise: Doubles | None) -> Numerical | None:
    """The same, whatever the gradient is.

    Args:
        session: The check.
        k: Of the input.
        mode: "full" or "coloured".
        noise: [m], of the outputs; None for rounding alone.
    """
    if mode == "coloured":
        found = _by_row(session, k, noise)
    else:
        found = _by_element(session, k, _elements(session, k), noise)
    session.calls.forwards += found.evaluations
    return _kept(session, k, found, noise)


def _by_row(session: Session, k: int, noise: Doubles | None, *, once: bool = False) -> Numerical:
    part = session.target.inputs[k]
    found = core.differentiate(
        session.function,
        k,
        session.all_weights(),
        noise=noise,
        rows=part.rows,
        workers=session.workers,
        once=once,
    )
    every = np.arange(part.value.size, dtype=np.int64)
    return Numerical(Reference.of(found), every, "coloured", found.evaluations, found.failure)


def _by_row_again(
    session: Session, k: int, noise: Doubles | None, found: Numerical, where: Mask
) -> Numerical:
    native = found.reference.native
    before = native.evaluations
    core.differentiate_again(
        session.function,
        k,
        session.all_weights(),
        native,
        where,
        noise=noise,
        rows=session.target.inputs[k].rows,
        workers=session.workers,
    )
    return replace(
        found,
        reference=Reference.of(native),
        evaluations=found.evaluations + native.evaluations - before,
        failure=native.failure,
    )


def _kept(session: Session, k: int, found: Numerical, noise: Doubles | None) -> Numerical | None:
    """What was found, if that is all there is; rows that promise too much hide a part of it."""
    if found.mode != "coloured":
        return found
    holds, evaluations = _claim_holds(session, k, found.reference, noise)
    return replace(found, evaluations=found.evaluations + evaluations) if holds else None


def _elements(session: Session, k: int) -> Indices:
    part, subset = session.target.inputs[k], session.config.subset
    if subset is None or subset >= part.value.size:
        return np.arange(part.value.size, dtype=np.int64)
    random = stream(session.config.seed, part.name, "subset")
    chosen: Indices = np.sort(random.choice(part.value.size, subset, replace=False))
    return chosen.astype(np.int64)


@dataclass
class _Pieces:
    parts: list[Reference] = field(default_factory=list)
    evaluations: int = 0
    failure: str | None = None


def _by_element(
    session: Session, k: int, elements: Indices, noise: Doubles | None, *, once: bool = False
) -> Numerical:
    pieces = _Pieces()
    left = elements
    while left.size or not pieces.parts:
        batch = batch_size(session, k, left.size)
        most = left.size if session.config.budget_s is None else _CHUNK
        chunk, left = np.split(left, [min(batch or most, most)])
        if session.late:
            pieces.parts.append(_unknown(session.num_cotangents, chunk.size))
            continue
        try:
            found = differentiate_batch(session, k, chunk, noise, once=once) if batch else None
            found = found or _one_by_one(session, k, chunk, noise, once=once)
        except core.OutOfTime:
            pieces.parts.append(_unknown(session.num_cotangents, chunk.size))
            continue
        pieces.parts.append(Reference.of(found))
        pieces.evaluations += found.evaluations
        pieces.failure = pieces.failure or found.failure
    return Numerical(
        Reference.joined(pieces.parts), elements, "full", pieces.evaluations, pieces.failure
    )


def _one_by_one(
    session: Session, k: int, elements: Indices, noise: Doubles | None, *, once: bool
) -> core.Derivatives:
    everything = elements.size == session.target.inputs[k].value.size
    return core.differentiate(
        session.function,
        k,
        session.all_weights(),
        elements=None if everything else elements,
        noise=noise,
        workers=session.workers,
        once=once,
    )


def _unknown(rows: int, size: int) -> Reference:
    zero = np.zeros((rows, size))
    late = np.full(size, LATE, dtype=np.uint8)
    return Reference(zero, np.full_like(zero, np.inf), zero, zero, zero, late)


def _claim_holds(
    session: Session, k: int, found: Reference, noise: Doubles | None
) -> tuple[bool, int]:
    """Whether the derivative along a dense random direction is the sum over the elements.

    A dependence between rows that the claim denies is missing in the sum.
    """
    d = session.direction(k, 0)
    along = session.first_traced(k, noise)
    dense = Reference.of(along)
    low, high = found.low * d, found.high * d
    least = np.minimum(low, high).sum(1, keepdims=True)
    most = np.maximum(low, high).sum(1, keepdims=True)
    del low, high
    error = np.where(np.isfinite(found.error), found.error, 0)
    error *= d
    error *= error
    error = np.sqrt(error.sum(1))
    limit = session.rules.bars * (dense.error + error[:, None])
    limit += session.rules.resolution * 0.01 * np.abs(found.scale * d).max(1, keepdims=True)
    apart = np.maximum(dense.low - most, least - dense.high)
    return not bool((apart > limit).any()), along.evaluations
