"""A planted bug: what it does to a gradient, and a target that has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles, Target

Where: TypeAlias = 'Literal["formula", "kernel"]'


@dataclass(frozen=True)
class Point:
    """What a bug may look at.

    Attributes:
        xs: The inputs, float64.
        vs: The cotangents, float64.
        k: The input whose gradient is wrong.
        ones: The gradient for a cotangent of ones.
        moved: The gradient at another point.
    """

    xs: Sequence[Doubles]
    vs: Sequence[Doubles]
    k: int
    ones: Callable[[], Doubles]
    moved: Callable[[], Doubles]


@dataclass(frozen=True)
class Bug:
    """A planted bug.

    Attributes:
        name: For example "one element * 1.1".
        severity: The relative size of the error; 1 for a gradient that is entirely wrong.
        change: From the right gradient, float64, to the wrong one of the same shape; None where
            the bug cannot be: no axis to confuse, nothing to swap.
    """

    name: str
    severity: float
    change: Callable[[Doubles, Point], Doubles | None]


def distance(right: Target, wrong: Target) -> float:
    """How far apart two gradients are at their point, for a random cotangent.

    Returns:
        The largest change of an element, relative to the largest element of its gradient.
    """
    xs = [x.value for x in right.inputs]
    rng = np.random.default_rng(0)
    vs = [
        np.ones_like(y) if right.fixed_cotangent else rng.standard_normal(y.shape).astype(y.dtype)
        for y in right.forward(xs, right.dtype)
    ]
    pairs = zip(right.vjp(xs, vs, right.dtype), wrong.vjp(xs, vs, right.dtype), strict=True)
    return max(_change(a.astype(np.float64), b.astype(np.float64)) for a, b in pairs)


def _change(right: Doubles, wrong: Doubles) -> float:
    if right.shape != wrong.shape:
        return math.inf
    if not np.all(np.isfinite(right)):
        return 0.0
    largest = float(np.max(np.abs(right), initial=0.0))
    with np.errstate(invalid="ignore"):
        change = float(np.max(np.abs(wrong - right), initial=0.0))
    if math.isnan(change) or (change and not largest):
        return math.inf
    return change / largest if largest else 0.0


class BuggyTarget(Target):
    """A target with a bug in the gradient by input `k`.

    Args:
        right: The target without the bug.
        bug: What to plant.
        k: The input whose gradient is wrong.
        where: "formula": in every dtype; "kernel": only in the dtype under test, float64 is right.
    """

    def __init__(self, right: Target, bug: Bug, k: int, where: Where = "formula") -> None:
        self.who = f"{right.who} with {bug.name}"
        self.inputs = right.inputs
        self.dtype = right.dtype
        self.has_shadow = right.has_shadow
        self.fixed_cotangent = right.fixed_cotangent
        self.place = right.place
        self._right = right
        self._bug = bug
        self._k = k
        self._where = where

    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        """That of the right target."""
        return self._right.forward(xs, dtype)

    def function(self, dtype: str) -> core.Function:
        """That of the right target."""
        return self._right.function(dtype)

    def vjp(self, xs: Sequence[Array], vs: Sequence[Array], dtype: str) -> list[Array]:
        """The right gradient, with the bug.

        Raises:
            core.InvalidArgument: The bug has no place in a gradient of this shape.
        """
        gradients = self._right.vjp(xs, vs, dtype)
        if self._where == "kernel" and dtype == SHADOW:
            return gradients
        wrong = self._wrong(gradients[self._k], xs, vs, dtype)
        if wrong is None:
            raise core.InvalidArgument(f"{self.who}: the bug has no place in this gradient")
        gradients[self._k] = wrong.astype(gradients[self._k].dtype)
        return gradients

    def _wrong(
        self, gradient: Array, xs: Sequence[Array], vs: Sequence[Array], dtype: str
    ) -> Doubles | None:
        def again(points: Sequence[Array], cotangents: Sequence[Array]) -> Doubles:
            return self._right.vjp(points, cotangents, dtype)[self._k].astype(np.float64)

        def moved() -> Doubles:
            return again([(x.astype(np.float64) * 1.25).astype(x.dtype) for x in xs], vs)

        point = Point(
            [x.astype(np.float64) for x in xs],
            [v.astype(np.float64) for v in vs],
            self._k,
            lambda: again(xs, [np.ones_like(v) for v in vs]),
            moved,
        )
        return self._bug.change(gradient.astype(np.float64), point)
