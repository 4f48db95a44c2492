"""The gradient of a target as a function of its own, with the gradient of the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.gradcheck.target.calls import cast
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.target import Array, Doubles, Input, Rounding, Target

_MOST = 4  # of what may be rounding


class NoSecondGradientError(Exception):
    """A target has no gradient of its gradient.

    Attributes:
        is_promised: Whether its framework differentiates twice, so that one is missing here; false
            where there are none by declaration.

    Args:
        why: For a person, without a full stop.
        is_promised: As above.
    """

    def __init__(self, why: str, *, is_promised: bool = False) -> None:
        super().__init__(why)
        self.is_promised = is_promised


@runtime_checkable
class HasSecondOrder(Protocol):
    """A target that can differentiate its gradient."""

    def second_vjp(
        self, xs: Sequence[Array], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Array]:
        """The claimed gradient of Σ u·vjp(x, v) by every input, calculated in `dtype`.

        Where the target can tell, the gradients by every cotangent v follow: the derivatives of
        its outputs along u.

        Args:
            xs: The point.
            vs: Cotangents, as of `vjp`.
            us: Cotangents of the gradient, an array for each input, of its shape.
            dtype: As of `vjp`.

        Raises:
            NoSecondGradientError: There is none.
        """


@runtime_checkable
class HasGradientFunction(Protocol):
    """A target whose gradient the native engine can run without Python."""

    def gradient_function(self, vs: Sequence[Array], dtype: str) -> core.Function:
        """The gradients as a function of the inputs and of the cotangents, at these."""


class GradientTarget(Target):
    """The gradients of a target, as a function of its inputs and, if wanted, of its cotangents.

    Args:
        first: The target.
        cotangents: At which its gradients are taken.
        by_cotangents: Whether these are inputs, too.
        rounding: Of the gradients, and of the gradients of them. What is not larger is taken for 0.
    """

    def __init__(
        self,
        first: Target,
        cotangents: Sequence[Array],
        by_cotangents: bool = False,
        rounding: Rounding | None = None,
    ) -> None:
        self.first = first
        self.rounding = rounding
        self.cotangents = [np.array(v) for v in cotangents]
        self.who = f"the gradient of {first.who}"
        self.inputs = _inputs(first, self.cotangents if by_cotangents else [])
        self.dtype = first.dtype
        self.has_shadow, self.shadow = first.has_shadow, first.shadow
        self.place = first.place
        self.source = first.source
        self.repro = first.repro

    def running(self) -> AbstractContextManager[None]:
        """As of the first target."""
        return self.first.running()

    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        """The gradients by every input of the first target."""
        return list(self.first.vjp(*self._split(xs, dtype), dtype))

    def vjp(self, xs: Sequence[Array], vs: Sequence[Array], dtype: str) -> list[Array]:
        """The claimed gradient of Σ v·gradient."""
        if not isinstance(self.first, HasSecondOrder):
            raise core.InvalidArgument(f"{self.who}: {self.first.who} has no second gradient")
        point, weights = self._split(xs, dtype)
        found = list(self.first.second_vjp(point, weights, vs, dtype))[: len(xs)]
        if self.rounding is None:
            return found
        # In a smaller dtype much is below its roundoff: what is dust, the wider one knows.
        own = dtype == self.shadow or not self.has_shadow
        wide = found if own else self.vjp(self._widened(xs), self._widened(vs), self.shadow)
        limits = [_MOST * UNIT[dtype] * unit for unit in self.rounding.gradients]
        return [
            np.where(_is_dust(a, limit) & (own | (exact == 0)), np.zeros_like(a), a)
            for a, exact, limit in zip(found, wide, limits, strict=True)
        ]

    def function(self, dtype: str) -> core.Function:
        """The gradients, for the engine."""
        inputs = [cast(part.value, dtype) for part in self.inputs]
        count = len(self.first.inputs)
        if len(inputs) > count and isinstance(self.first, HasGradientFunction):
            return self.first.gradient_function(inputs[count:], dtype)
        return core.CallableFunction(lambda xs: self.forward(xs, dtype), inputs)

    def _widened(self, arrays: Sequence[Array]) -> list[Array]:
        return [cast(array, self.shadow) for array in arrays]

    def _split(self, xs: Sequence[Array], dtype: str) -> tuple[list[Array], list[Array]]:
        """The inputs of the first target, and its cotangents."""
        count = len(self.first.inputs)
        given = xs[count:] or [cast(v, dtype) for v in self.cotangents]
        return list(xs[:count]), list(given)


def _is_dust(array: Array, limit: Doubles) -> NDArray[np.bool_]:
    small: NDArray[np.bool_] = np.abs(array.astype(np.float64)) <= limit.reshape(array.shape)
    return small


def _inputs(first: Target, cotangents: Sequence[Array]) -> list[Input]:
    """Rows stay apart only where all inputs have the same ones: a weight's gradient sums rows."""
    rows = {part.rows for part in first.inputs}
    common = rows.pop() if len(rows) == 1 else 0
    inputs = [replace(part, rows=common) for part in first.inputs]
    if len(cotangents) == 1:
        return [*inputs, Input("cotangent", cotangents[0], common)]
    return [*inputs, *(Input(f"cotangent {j}", v, common) for j, v in enumerate(cotangents))]
