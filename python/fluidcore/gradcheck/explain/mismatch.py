"""A wrong gradient A beside the right one G, and what a guess at the reason is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.target.target import Doubles, Target

_ROUNDING = 1e-13  # of the arithmetic of the guesses


class Guess(NamedTuple):
    """A reason that would make the gradient what it is.

    Attributes:
        text: For a person.
        value: What A would be, float64 of its shape; NaN only where A would be NaN.
        limit: How far A may be from it, of the same shape.
        elements: Flat indices to compare, where others are not known; None: all.
        most: The largest score it may have: 1, or less where it does not name a reason.
    """

    text: str
    value: Doubles
    limit: Doubles
    elements: NDArray[np.int64] | None = None
    most: float = 1.0


@dataclass(frozen=True)
class Mismatch:
    """The gradient by one input, for one cotangent.

    Attributes:
        target: What was checked.
        k: The input.
        a: The claimed gradient, float64, of the input's shape.
        g: The numerical one.
        vs: The cotangent, an array for each output.
        limit: How far `a` may be from `g`, of the same shape.
    """

    target: Target
    k: int
    a: Doubles
    g: Doubles
    vs: Sequence[Doubles]
    limit: Doubles

    @property
    def dtype(self) -> str:
        """In which the claimed gradient is calculated again."""
        return self.target.judged_in("auto")

    @cached_property
    def xs(self) -> list[Doubles]:
        """The inputs."""
        return [put.value.astype(np.float64) for put in self.target.inputs]

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Which elements are."""
        with np.errstate(invalid="ignore"):
            return ~(np.abs(self.a - self.g) <= self.limit)

    @cached_property
    def claimed(self) -> list[Doubles]:
        """The claimed gradient by every input."""
        return self.claims(self.xs, self.vs)

    def claims(self, xs: Sequence[Doubles], vs: Sequence[Doubles]) -> list[Doubles]:
        """The claimed gradient by every input, elsewhere or for other cotangents."""
        dtype = numpy_dtype(self.dtype)
        found = self.target.vjp(
            [x.astype(dtype) for x in xs], [v.astype(dtype) for v in vs], self.dtype
        )
        return [np.asarray(grad).astype(np.float64) for grad in found]

    def outputs(self, xs: Sequence[Doubles]) -> list[Doubles]:
        """What the function gives elsewhere."""
        dtype = numpy_dtype(self.dtype)
        found = self.target.forward([x.astype(dtype) for x in xs], self.dtype)
        return [np.asarray(y).astype(np.float64) for y in found]

    def guess(self, text: str, value: Doubles, gain: float = 1.0, most: float = 1.0) -> Guess:
        """A guess whose value is G, or something made of it, with errors `gain` times as large."""
        limit = self.limit * max(1.0, abs(gain)) + _ROUNDING * np.abs(value)
        return Guess(text, value, limit, most=most)

    def score(self, guess: Guess) -> float:
        """How much of the difference between A and G a guess explains: 1 is everything."""
        chosen = slice(None) if guess.elements is None else guess.elements
        a, g, value, limit = (x.ravel()[chosen] for x in (self.a, self.g, guess.value, guess.limit))
        with np.errstate(invalid="ignore"):
            left, before = np.abs(a - value), np.abs(a - g)
            same = (left <= limit) | (a == value) | (np.isnan(a) & np.isnan(value))
            finite = np.isfinite(before)
            moved = float(np.sum(np.abs(value - g)[finite]))
        if np.all(finite) and moved < 0.5 * float(np.sum(before)):
            return 0.0  # it says that A = G, within wider limits
        if np.all(same):
            return guess.most
        left = np.where(same, 0.0, left)
        whole = float(np.sum(before[finite]))
        if not np.all(np.isfinite(left)):
            return 0.0
        return min(guess.most, 0.99) * max(0.0, 1.0 - float(np.sum(left)) / whole) if whole else 0.0


def close(a: Doubles, b: Doubles, limit: Doubles | float) -> bool:
    """Whether two arrays of one shape are the same within `limit`."""
    if a.shape != b.shape:
        return False
    with np.errstate(invalid="ignore"):
        return bool(np.all(np.abs(a - b) <= limit + _ROUNDING * np.abs(b)))


def place(flat: int, shape: tuple[int, ...]) -> str:
    """An element as messages name it: "[2, 3]"."""
    return str([int(i) for i in np.unravel_index(flat, shape)])
