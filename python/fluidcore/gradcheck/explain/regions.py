"""A is wrong only somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fluidcore.gradcheck.explain.factors import relation
from fluidcore.gradcheck.explain.mismatch import Guess, Mismatch, close, place
from fluidcore.gradcheck.target.target import Doubles

_UNNAMED = 0.9  # most for "only there", without saying what is there
_FILLED = 0.5  # a region is one if more than this part of it is wrong


class Region(NamedTuple):
    """Some elements, flat indices, and what they are called."""

    name: str
    elements: NDArray[np.int64]
    verb: str = "are"


def regional(mismatch: Mismatch) -> Iterator[Guess]:
    """One element, two that are swapped, a slice, a tail, the border, a block."""
    wrong = np.flatnonzero(mismatch.wrong)
    if wrong.size == 0 or not _has_right_elements(mismatch):
        return
    if wrong.size == 2:
        yield from _swapped(mismatch, int(wrong[0]), int(wrong[1]))
    best, filled = None, _FILLED
    for region in _regions(mismatch.g.shape, wrong):
        whole = region.elements.size == mismatch.g.size
        if whole or not np.all(np.isin(wrong, region.elements)):
            continue
        part = wrong.size / region.elements.size
        if part > filled:
            best, filled = region, part
    if best is not None:
        yield _guess(mismatch, best)


def scattered(mismatch: Mismatch) -> Iterator[Guess]:
    """Some elements without a pattern of places."""
    wrong = np.flatnonzero(mismatch.wrong)
    if wrong.size == 0 or wrong.size > mismatch.g.size // 2:
        return
    shown = ", ".join(place(int(i), mismatch.g.shape) for i in wrong[:3])
    more = ", …" if wrong.size > 3 else ""
    name = f"{wrong.size} of {mismatch.g.size} elements ({shown}{more})"
    yield _guess(mismatch, Region(name, wrong))


def _has_right_elements(mismatch: Mismatch) -> bool:
    """Whether an element is right that a wrong factor would have changed."""
    return bool(np.any(~mismatch.wrong & (np.abs(mismatch.g) > 4 * mismatch.limit)))


def _guess(mismatch: Mismatch, region: Region) -> Guess:
    a, g, limit = (x.ravel()[region.elements] for x in (mismatch.a, mismatch.g, mismatch.limit))
    how = relation(a, g, limit)
    value: Doubles = mismatch.g.copy()
    value.ravel()[region.elements] = a
    text = f"only {region.name} {region.verb} wrong"
    if how is None:
        return mismatch.guess(text, value, most=_UNNAMED)
    return mismatch.guess(f"{text}: {how}", value)


def _swapped(mismatch: Mismatch, i: int, j: int) -> Iterator[Guess]:
    a, g, limit = (x.ravel()[[i, j]] for x in (mismatch.a, mismatch.g, mismatch.limit))
    if close(a, g[::-1], limit + limit[::-1]):
        value = mismatch.g.copy()
        value.ravel()[[i, j]] = a
        shape = mismatch.g.shape
        yield mismatch.guess(
            f"the elements {place(i, shape)} and {place(j, shape)} are swapped", value
        )


def _regions(shape: tuple[int, ...], wrong: NDArray[np.int64]) -> Iterator[Region]:
    """Regions that may be the wrong one, the simplest first."""
    size = int(np.prod(shape))
    everything = np.arange(size, dtype=np.int64)
    if wrong.size == 1:
        yield Region(f"the element {place(int(wrong[0]), shape)}", wrong, "is")
    at = np.unravel_index(wrong, shape)
    grid = np.unravel_index(everything, shape)
    low, high = [int(i.min()) for i in at], [int(i.max()) for i in at]
    for axis, extent in enumerate(shape):
        first, last = low[axis], high[axis]
        chosen = everything[(grid[axis] >= first) & (grid[axis] <= last)]
        where = f"of axis {axis}" if len(shape) > 1 else "elements"
        if first == last:
            name = f"index {first} {where}" if len(shape) > 1 else f"the element [{first}]"
        elif last == extent - 1:
            name = f"the last {extent - first} of {extent} {where}"
        elif first == 0:
            name = f"the first {last + 1} of {extent} {where}"
        else:
            name = f"{first} to {last} {where}"
        yield Region(name, chosen, "is" if first == last else "are")
    first, last = int(wrong[0]), int(wrong[-1])
    if last == size - 1:
        yield Region(f"the last {size - first} of {size} elements", everything[first:])
    if first == 0:
        yield Region(f"the first {last + 1} of {size} elements", everything[: last + 1])
    edges = [(i == 0) | (i == n - 1) for i, n in zip(grid, shape, strict=True)]
    yield Region("the elements at the border", everything[np.logical_or.reduce(edges)])
    box = [(i >= a) & (i <= b) for i, a, b in zip(grid, low, high, strict=True)]
    name = ", ".join(f"{a}:{b + 1}" for a, b in zip(low, high, strict=True))
    yield Region(f"the block [{name}]", everything[np.logical_and.reduce(box)], "is")
