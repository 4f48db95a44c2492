"""A is a multiple of G, or nothing, or not a number."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fluidcore.gradcheck.explain.mismatch import Guess, Mismatch, close, place
from fluidcore.gradcheck.report.errors import median
from fluidcore.gradcheck.target.target import Doubles

_NEAR = 5e-5  # to 1: six digits would show little of the difference, or nothing
_GREATEST = 1e6  # a larger factor is that of a G which is nothing but rounding


class Factor(NamedTuple):
    """c in A = c * G, and how it is written."""

    value: float
    text: str


_USUAL = (
    Factor(-1.0, "A = -G: the sign is wrong"),
    Factor(2.0, "A = 2 * G: the gradient is twice too large"),
    Factor(0.5, "A = G / 2: the gradient is half of what it must be"),
    Factor(-2.0, "A = -2 * G"),
    Factor(-0.5, "A = -G / 2"),
)


def not_finite(mismatch: Mismatch) -> Iterator[Guess]:
    """NaN or infinite where G is a number."""
    bad = np.flatnonzero(~np.isfinite(mismatch.a))
    if bad.size == 0:
        return
    kinds = {str(value) for value in mismatch.a.ravel()[bad]}
    what = kinds.pop() if len(kinds) == 1 else "not finite"
    if bad.size == mismatch.a.size > 1:
        where = "everywhere"
    elif bad.size == 1:
        where = f"in the one element {place(int(bad[0]), mismatch.a.shape)}"
    else:
        where = (
            f"in {bad.size} of {mismatch.a.size} elements, "
            f"the first at {place(int(bad[0]), mismatch.a.shape)}"
        )
    value = np.where(np.isfinite(mismatch.a), mismatch.g, mismatch.a)
    yield mismatch.guess(f"A is {what} {where}", value)


def zero(mismatch: Mismatch) -> Iterator[Guess]:
    """Nothing arrives at this input."""
    if not np.any(mismatch.a):
        yield mismatch.guess("A = 0: no gradient arrives", np.zeros_like(mismatch.g))


def named(mismatch: Mismatch) -> Iterator[Guess]:
    """A usual factor, or one that is a size of the input or of an output."""
    factors = {factor.value: factor for factor in (*_sizes(mismatch), *_USUAL)}
    for factor in factors.values():
        yield mismatch.guess(factor.text, factor.value * mismatch.g, factor.value)


def fitted(mismatch: Mismatch) -> Iterator[Guess]:
    """Any one factor, where more than one element has it."""
    if np.count_nonzero(mismatch.g) < 2:
        return
    c = fit(mismatch.a, mismatch.g, mismatch.limit)
    if c is not None:
        yield mismatch.guess(f"A = {written(c)} * G", c * mismatch.g, c)


def fit(a: Doubles, g: Doubles, limit: Doubles) -> float | None:
    """The c that brings c * g closest to a; None if there is none."""
    good = np.isfinite(a) & np.isfinite(g)
    weight = weights(limit)[good]
    square = float(np.sum(weight * g[good] ** 2))
    if not square:
        return None
    c = float(np.sum(weight * a[good] * g[good])) / square
    return c if np.isfinite(c) and abs(c) <= _GREATEST else None


def weights(limit: Doubles) -> Doubles:
    """How much an element counts in a fit: the less, the less is known of it."""
    usual = median(limit) if limit.size else 0.0
    return 1 / np.maximum(limit / usual, 1e-3) ** 2 if usual > 0 else np.ones_like(limit)


def relation(a: Doubles, g: Doubles, limit: Doubles) -> str | None:
    """What a is to g, both flat, in words; None if that is not simple."""
    if not np.any(a):
        return "A = 0 there"
    if not np.all(np.isfinite(a)):
        return f"A is {a[0]} there" if len({str(value) for value in a}) == 1 else None
    for factor in _USUAL:
        if close(a, factor.value * g, limit * max(1.0, abs(factor.value))):
            return factor.text.partition(":")[0] + " there"
    c = fit(a, g, limit)
    if c is not None and close(a, c * g, limit * (2 * max(1.0, abs(c)))):
        return f"A = {written(c)} * G there"
    if a.size > 1 and close(a, g[::-1], limit + limit[::-1]):
        return "in the reverse order there"
    shift = float(np.average(a - g, weights=weights(limit)))
    if close(a, g + shift, 2 * limit):
        return f"A = G {signed(shift)} there"
    if a.size > 1 and close(a, np.full_like(a, a[0]), limit):
        return f"A = {a[0]:.4g} there"
    return None


def written(c: float) -> str:
    """A factor, as a fraction where it is a simple one; near 1 it is told by how much it is not."""
    if 0 < abs(abs(c) - 1) < _NEAR:
        near = f"(1 {signed(abs(c) - 1)})"
        return near if c > 0 else f"-{near}"
    for denominator in range(1, 13):
        fraction = Fraction(round(c * denominator), denominator)
        if fraction and abs(float(fraction) - c) <= 1e-9 * abs(c):
            return str(fraction)
    return f"{c:.6g}"


def signed(value: float) -> str:
    """A term of a sum: "+ 0.5", "- 2"."""
    return f"{'-' if value < 0 else '+'} {abs(value):.4g}"


def _sizes(mismatch: Mismatch) -> Iterator[Factor]:
    sizes: dict[int, str] = {}
    outputs = sum(v.size for v in mismatch.vs)
    sizes.setdefault(outputs, "the number of outputs")
    sizes.setdefault(mismatch.g.size, "the number of elements of the input")
    shapes = [("an output", v.shape) for v in mismatch.vs]
    shapes += [(put.name, put.value.shape) for put in mismatch.target.inputs]
    for owner, shape in shapes:
        for axis, extent in enumerate(shape):
            sizes.setdefault(extent, f"the extent of axis {axis} of {owner}")
    for size, what in sizes.items():
        if size > 1:
            yield Factor(float(size), f"A = {size} * G: a factor that is {what}")
            yield Factor(1 / size, f"A = G / {size}: a factor that is {what}")
