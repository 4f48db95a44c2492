"""A is the gradient of a part: its cotangent is ignored, or some of the outputs are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.gradcheck.explain.mismatch import Guess, Mismatch, close
from fluidcore.gradcheck.target.target import Doubles

_ELEMENTS = 128  # of the input, for which the derivatives of the parts are calculated
_PARTS = 24
_SAME = 1e-3  # relative: the increments of a linear function are, in every dtype but the narrowest


class Part(NamedTuple):
    """A cotangent that is zero but for a part of the outputs."""

    name: str
    vs: list[Doubles]


def cotangent(mismatch: Mismatch) -> Iterator[Guess]:
    """The cotangent does not matter, or is all there is."""
    for v in mismatch.vs:
        if v.shape == mismatch.g.shape and v.size > 1:
            yield mismatch.guess("A = v: the cotangent is passed through", v)
    if mismatch.g.size > 1:
        yield mismatch.guess("A = 1 everywhere", np.ones_like(mismatch.g))
    if mismatch.target.fixed_cotangent:
        return
    if not np.any(mismatch.a) or not close(
        mismatch.claimed[mismatch.k], mismatch.a, mismatch.limit
    ):
        return
    ones = mismatch.claims(mismatch.xs, [np.ones_like(v) for v in mismatch.vs])[mismatch.k]
    if close(ones, mismatch.a, mismatch.limit):
        yield mismatch.guess("A ignores its cotangent: A(v) = A(1)", ones)
    doubled = mismatch.claims(mismatch.xs, [2 * v for v in mismatch.vs])[mismatch.k]
    if close(doubled, 4 * mismatch.a, 4 * mismatch.limit):
        yield mismatch.guess("A uses its cotangent twice: A(2v) = 4 A(v)", mismatch.a)


def partial(mismatch: Mismatch) -> Iterator[Guess]:
    """Only some of the outputs count: a sum over a broadcast axis, or a use of x, is missing."""
    parts = list(_parts(mismatch.vs))[:_PARTS]
    if not parts or not mismatch.g.size:
        return
    size = mismatch.g.size
    elements: NDArray[np.int64] = np.arange(size, dtype=np.int64)
    if size > _ELEMENTS:
        elements = np.sort(np.random.default_rng(0).choice(elements, _ELEMENTS, replace=False))
    flat = [np.concatenate([v.ravel() for v in part.vs]) for part in parts]
    found = core.differentiate(
        mismatch.target.function(mismatch.dtype), mismatch.k, flat, elements=elements
    )
    for part, value, error in zip(parts, found.value, found.error, strict=True):
        for text, small in (
            (f"A is the gradient of {part.name} alone: a sum or a use of x is missing", value),
            (
                f"A lacks the gradient of {part.name}: one contribution is missing",
                mismatch.g.ravel()[elements] - value,
            ),
        ):
            whole = mismatch.g.copy()
            whole.ravel()[elements] = small
            guess = mismatch.guess(text, whole)
            limit = guess.limit.copy()
            limit.ravel()[elements] += 3 * error
            yield guess._replace(limit=limit, elements=elements)


def frozen(mismatch: Mismatch) -> Iterator[Guess]:
    """A is the same at another point, where G is not: x is not what it is made of."""
    moved = [x * 1.125 + 0.0625 for x in mismatch.xs]
    there = mismatch.claims(moved, mismatch.vs)[mismatch.k]
    if not np.any(mismatch.a) or not np.array_equal(there, mismatch.claimed[mismatch.k]):
        return
    step = moved[mismatch.k] - mismatch.xs[mismatch.k]
    here, elsewhere = (_increments(mismatch, xs, step) for xs in (mismatch.xs, moved))
    if not all(map(_same, here, elsewhere)):
        text = "A does not change with x: it is made of values of another point"
        yield mismatch.guess(text, mismatch.a, most=0.8)


def _same(a: Doubles, b: Doubles) -> bool:
    return close(a, b, _SAME * float(np.max(np.abs(a), initial=0.0)))


def _increments(mismatch: Mismatch, xs: Sequence[Doubles], step: Doubles) -> list[Doubles]:
    """Of the outputs, times their cotangents, where the input makes a step."""
    beyond = [x + step if i == mismatch.k else x for i, x in enumerate(xs)]
    before, after = mismatch.outputs(xs), mismatch.outputs(beyond)
    return [v * (b - a) for v, a, b in zip(mismatch.vs, before, after, strict=True)]


def _parts(vs: Sequence[Doubles]) -> Iterator[Part]:
    nothing = [np.zeros_like(v) for v in vs]
    several = len(vs) > 1
    for j, v in enumerate(vs):
        output = f"output {j}" if several else "the output"
        if several:
            yield Part(output, [*nothing[:j], v, *nothing[j + 1 :]])
        for axis, extent in enumerate(v.shape):
            if extent < 2:
                continue
            for name, index in (("first", 0), ("last", extent - 1)):
                part = np.zeros_like(v)
                chosen = (slice(None),) * axis + (index,)
                part[chosen] = v[chosen]
                text = (
                    f"the {name} of axis {axis} of {output}"
                    if v.ndim > 1
                    else (f"the {name} element of {output}")
                )
                yield Part(text, [*nothing[:j], part, *nothing[j + 1 :]])
