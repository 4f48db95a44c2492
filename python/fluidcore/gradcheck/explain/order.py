"""A has the elements of G in other places, or sums of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np

from fluidcore.gradcheck.explain.mismatch import Guess, Mismatch
from fluidcore.gradcheck.target.target import Doubles

_SHIFTS = 32  # with a longer axis only its ends are tried
_MATCHED = 64  # longest axis whose slices are searched for


def moved(mismatch: Mismatch) -> Iterator[Guess]:
    """Transposed, reversed, rolled, or along one axis in any other order."""
    shape = mismatch.g.shape
    for axes in _permutations(mismatch.g.ndim):
        text = "A = Gᵀ" if mismatch.g.ndim == 2 else f"A = G with its axes in the order {axes}"
        if tuple(shape[axis] for axis in axes) != shape:
            text += ", read as if it had the shape of G"
        yield _made(mismatch, text, _transposed, axes)
    if mismatch.g.ndim > 1:
        yield _made(mismatch, "A = G in the reverse order", np.flip, None)
    for axis, extent in enumerate(shape):
        if extent > 1:
            yield _made(mismatch, f"A = G in the reverse order{_along(axis, shape)}", np.flip, axis)
    for axis, extent in enumerate(shape):
        for by in _shifts(extent):
            yield _made(mismatch, f"A = G rolled by {by}{_along(axis, shape)}", np.roll, by, axis)
    if mismatch.g.ndim > 1:
        for by in _shifts(mismatch.g.size):
            yield _made(mismatch, f"A = G rolled by {by} in memory", np.roll, by)
    yield from _shuffled(mismatch)


def summed(mismatch: Mismatch) -> Iterator[Guess]:
    """The same along an axis, or in both triangles: a sum where there must be none."""
    reductions: dict[str, Callable[[Doubles, int], Doubles]] = {
        "the first of G": lambda x, axis: np.take(x, [0], axis),
        "the last of G": lambda x, axis: np.take(x, [-1], axis),
        "the sum of G": lambda x, axis: np.sum(x, axis, keepdims=True),
        "the mean of G": lambda x, axis: np.mean(x, axis, keepdims=True),
    }
    for axis, extent in enumerate(mismatch.g.shape):
        for what, reduce in reductions.items() if extent > 1 else ():
            text = f"A is {what} along axis {axis}, everywhere"
            yield _made(mismatch, text, _spread, reduce, axis)
    if mismatch.g.ndim > 1 and mismatch.g.shape[-1] == mismatch.g.shape[-2] > 1:
        text = "A = (G + Gᵀ) / 2: x is taken for symmetric, but f reads its triangles differently"
        yield _made(mismatch, text, _symmetrized)


def _made(mismatch: Mismatch, text: str, move: Callable[..., Doubles], *arguments: Any) -> Guess:
    """A guess whose value is `move` of G; errors move with it."""
    guess = mismatch.guess(text, np.array(move(mismatch.g, *arguments)))
    return guess._replace(limit=guess.limit + move(mismatch.limit, *arguments))


def _transposed(x: Doubles, axes: tuple[int, ...]) -> Doubles:
    return x.transpose(axes).reshape(x.shape)


def _spread(x: Doubles, reduce: Callable[[Doubles, int], Doubles], axis: int) -> Doubles:
    return np.broadcast_to(reduce(x, axis), x.shape)


def _symmetrized(x: Doubles) -> Doubles:
    return (x + np.swapaxes(x, -1, -2)) / 2


def _along(axis: int, shape: tuple[int, ...]) -> str:
    return f" along axis {axis}" if len(shape) > 1 else ""


def _permutations(rank: int) -> list[tuple[int, ...]]:
    if rank > 4:
        return [(*range(rank - 2), rank - 1, rank - 2), tuple(reversed(range(rank)))]
    return [axes for axes in permutations(range(rank)) if axes != tuple(range(rank))]


def _shifts(extent: int) -> list[int]:
    near = [1, -1][: extent - 1]
    return near + (list(range(2, extent - 1)) if extent <= _SHIFTS else [])


def _shuffled(mismatch: Mismatch) -> Iterator[Guess]:
    """Slices of an axis in another order: each of A is looked up in G."""
    for axis, extent in enumerate(mismatch.g.shape):
        if not 2 < extent <= _MATCHED or not np.all(np.isfinite(mismatch.a)):
            continue
        a = np.moveaxis(mismatch.a, axis, 0).reshape(extent, -1)
        g = np.moveaxis(mismatch.g, axis, 0).reshape(extent, -1)
        source = [int(np.argmin(np.sum(np.abs(g - row), axis=1))) for row in a]
        if len(set(source)) < extent or source == list(range(extent)):
            continue
        changed = [i for i in range(extent) if source[i] != i]
        where = f" of axis {axis}" if mismatch.g.ndim > 1 else ""
        if len(changed) == 2:
            i, j = changed
            text = f"the elements [{i}] and [{j}] are swapped"
            if mismatch.g.ndim > 1:
                text = f"the indices {i} and {j}{where} are swapped"
        else:
            text = f"A = G with the indices{where} in the order {source[:8]}" + (
                "" if extent <= 8 else " …"
            )
        yield _made(mismatch, text, np.take, source, axis)
