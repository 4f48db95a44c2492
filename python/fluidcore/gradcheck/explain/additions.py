"""A is G and something else: a term too much or too few, or a factor of each element's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fluidcore.gradcheck.explain.factors import fit, signed, weights, written
from fluidcore.gradcheck.explain.mismatch import Guess, Mismatch, close
from fluidcore.gradcheck.target.target import Doubles


def others(mismatch: Mismatch) -> Iterator[Guess]:
    """The gradient of another input in place of this one."""
    own = mismatch.target.inputs[mismatch.k].name
    for j, claimed in enumerate(mismatch.claimed):
        same = j != mismatch.k and claimed.shape == mismatch.g.shape and np.any(claimed)
        if same and close(claimed, mismatch.g, mismatch.limit):
            other = mismatch.target.inputs[j].name
            text = f"the gradients of {own} and {other} are swapped"
            yield mismatch.guess(text, mismatch.a)


def terms(mismatch: Mismatch) -> Iterator[Guess]:
    """A constant, a multiple of the cotangent, of an input, or of another gradient."""
    difference = mismatch.a - mismatch.g
    if mismatch.g.size < 2 or not np.all(np.isfinite(difference)):
        return
    shift = float(np.average(difference, weights=weights(mismatch.limit)))
    yield mismatch.guess(
        f"A = G {signed(shift)}: a constant is added", mismatch.g + shift, gain=2.0
    )
    found: list[tuple[str, str, Doubles]] = []
    for v in mismatch.vs:
        found.append(("v", "the cotangent, as of a skip connection", v))
    for put, x in zip(mismatch.target.inputs, mismatch.xs, strict=True):
        found.append((put.name, "an input, as of a weight decay", x))
    for j, other in enumerate(mismatch.claimed):
        if j != mismatch.k:
            name = mismatch.target.inputs[j].name
            found.append((f"(gradient of {name})", "the gradient of another input", other))
    for name, what, value in found:
        if value.shape != mismatch.g.shape:
            continue
        c = fit(difference, value, mismatch.limit)
        if c:
            size = "" if abs(abs(c) - 1) < 1e-6 else f"{written(abs(c))} * "
            sign = "-" if c < 0 else "+"
            how = "is missing" if c < 0 else "is too much"
            text = f"A = G {sign} {size}{name}: {what}, {how}"
            yield mismatch.guess(text, mismatch.g + c * value, gain=2.0)


def products(mismatch: Mismatch) -> Iterator[Guess]:
    """G times, or divided by, something of its shape; or G without its sign, or clipped."""
    g = mismatch.g
    if g.size < 2:
        return
    factors = [("v", v) for v in mismatch.vs]
    factors += [(put.name, x) for put, x in zip(mismatch.target.inputs, mismatch.xs, strict=True)]
    for name, value in factors:
        if value.shape != g.shape:
            continue
        gain = float(np.max(np.abs(value)))
        yield mismatch.guess(f"A = G * {name}: a factor {name} too much", g * value, gain)
        if np.all(value):
            gain = float(np.max(1 / np.abs(value)))
            yield mismatch.guess(f"A = G / {name}: a factor {name} is missing", g / value, gain)
    yield mismatch.guess("A = |G|: the sign is lost", np.abs(g))
    yield mismatch.guess("A = sign(G): the size is lost", np.sign(g))
    yield mismatch.guess("A = max(G, 0): what is negative is lost", np.maximum(g, 0))
    yield mismatch.guess("A = min(G, 0): what is positive is lost", np.minimum(g, 0))
    bound = float(np.max(np.abs(mismatch.a)))
    clipped = np.abs(g) > bound + mismatch.limit
    if np.isfinite(bound) and np.count_nonzero(clipped) > 1:
        yield mismatch.guess(f"A = clip(G, ±{bound:.6g}): it is clipped", np.clip(g, -bound, bound))


def along_axes(mismatch: Mismatch) -> Iterator[Guess]:
    """A - G or A / G is the same along an axis, as where a mean or a norm is forgotten."""
    if mismatch.g.ndim < 2 or not np.all(np.isfinite(mismatch.a)):
        return
    weight = weights(mismatch.limit)
    for axis, extent in enumerate(mismatch.g.shape):
        if extent < 3:
            continue
        shift = np.average(mismatch.a - mismatch.g, axis, weight, keepdims=True)
        yield mismatch.guess(
            f"A - G is the same along axis {axis}: a sum or mean over it is missing",
            mismatch.g + shift,
            gain=2.0,
        )
        square = np.sum(weight * mismatch.g**2, axis=axis, keepdims=True)
        product = np.sum(weight * mismatch.a * mismatch.g, axis=axis, keepdims=True)
        ratio = np.divide(product, square, out=np.ones_like(product), where=square > 0)
        yield mismatch.guess(
            f"A / G is the same along axis {axis}: a factor depends on the other axes",
            mismatch.g * ratio,
            gain=2 * float(np.max(np.abs(ratio))),
        )
