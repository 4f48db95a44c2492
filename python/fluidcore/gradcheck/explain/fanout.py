"""A has one contribution twice, or not at all, where something is used several times."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fluidcore.gradcheck.explain.mismatch import Guess, Mismatch, close
from fluidcore.gradcheck.target.target import Doubles

_TWICE = "is added twice"


def twice(mismatch: Mismatch) -> Iterator[Guess]:
    """What arrives by way of another input, or from one of several outputs, is counted twice.

    Without the other input, or the outputs, the claimed gradient lacks twice what is too much.
    """
    k, name = mismatch.k, mismatch.target.inputs[mismatch.k].name
    if not close(mismatch.claimed[k], mismatch.a, mismatch.limit):
        return
    for j, put in enumerate(mismatch.target.inputs):
        if j == k or not np.any(mismatch.xs[j]):
            continue
        xs = [np.zeros_like(x) if i == j else x for i, x in enumerate(mismatch.xs)]
        part = (mismatch.a - mismatch.claims(xs, mismatch.vs)[k]) / 2
        yield _added(mismatch, part, f"the gradient of {name} by way of {put.name} {_TWICE}")
    if len(mismatch.vs) < 2:
        return
    for j, v in enumerate(mismatch.vs):
        vs = [v if i == j else np.zeros_like(u) for i, u in enumerate(mismatch.vs)]
        part = mismatch.claims(mismatch.xs, vs)[k] / 2
        yield _added(mismatch, part, f"the gradient of output {j} {_TWICE}")


def branches(mismatch: Mismatch) -> Iterator[Guess]:
    """The gradient of a product with an input is too much, or missing: v * w, v @ wᵀ, wᵀ @ v."""
    shape = mismatch.g.shape
    for put, w in zip(mismatch.target.inputs, mismatch.xs, strict=True):
        for v in mismatch.vs:
            for text, part in _products(put.name, w, v, shape):
                gain = 2.0 + float(np.max(np.abs(w), initial=0.0))
                for sign, what in (("+", _TWICE), ("-", "is missing")):
                    value = mismatch.g + part if sign == "+" else mismatch.g - part
                    whole = f"A = G {sign} {text}: a partial gradient {what}, where "
                    reader = mismatch.target.inputs[mismatch.k].name
                    yield mismatch.guess(f"{whole}{reader} is used several times", value, gain)


def _added(mismatch: Mismatch, part: Doubles, text: str) -> Guess:
    if not np.all(np.isfinite(part)):
        part = np.zeros_like(part)  # explains nothing
    return mismatch.guess(text, mismatch.g + part, gain=2.0)


def _products(
    name: str, w: Doubles, v: Doubles, shape: tuple[int, ...]
) -> Iterator[tuple[str, Doubles]]:
    try:
        product = v * w
    except ValueError:
        pass
    else:
        summed = _summed_to(product, shape)
        if summed is not None:
            yield (f"v * {name}" if product.shape == shape else f"sum(v * {name})"), summed
    if v.ndim == w.ndim == 2:
        for text, left, right in (
            (f"v @ {name}ᵀ", v, w.T),
            (f"{name}ᵀ @ v", w.T, v),
            (f"v @ {name}", v, w),
            (f"vᵀ @ {name}", v.T, w),
        ):
            if left.shape[1] == right.shape[0] and (left.shape[0], right.shape[1]) == shape:
                yield text, left @ right


def _summed_to(x: Doubles, shape: tuple[int, ...]) -> Doubles | None:
    """The sum over axes that were broadcast; None if `x` was not made of this shape."""
    lead = x.ndim - len(shape)
    if lead < 0 or any(b not in (1, a) for a, b in zip(x.shape[lead:], shape, strict=True)):
        return None
    axes = [*range(lead), *(lead + i for i, b in enumerate(shape) if b == 1 != x.shape[lead + i])]
    return np.asarray(np.sum(x, axis=tuple(axes))).reshape(shape)
