"""Wrong gradients beside right ones, for the tests of what is guessed about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.explain.mismatch import Guess, Mismatch
from fluidcore.gradcheck.target.target import Input, Target

Array = Any


class Claims(Target):
    """The gradients are what a function makes of inputs and cotangents."""

    def __init__(
        self,
        xs: Sequence[Array],
        claims: Callable[..., Sequence[Array]],
        f: Callable[..., Sequence[Array]] | None = None,
        **attributes: Any,
    ) -> None:
        self.inputs = [Input(name, np.asarray(x)) for name, x in zip("xywz", xs, strict=False)]
        self.who, self.dtype, self.has_shadow = "claims", "float64", True
        self.__dict__ |= attributes
        self._claims, self._f = claims, f
        self.dtypes: list[str] = []

    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        assert self._f is not None
        return [np.asarray(y) for y in self._f(*xs)]

    def vjp(self, xs: Sequence[Array], vs: Sequence[Array], dtype: str) -> list[Array]:
        self.dtypes.append(dtype)
        return list(self._claims(xs, vs))

    def function(self, dtype: str) -> core.Function:
        return core.CallableFunction(
            lambda xs: self.forward(xs, dtype), [part.value for part in self.inputs]
        )


def mismatch(
    a: Array,
    g: Array,
    *,
    vs: Sequence[Array] | None = None,
    xs: Sequence[Array] | None = None,
    limit: Any = 1e-9,
    claims: Callable[..., Sequence[Array]] | None = None,
    **attributes: Any,
) -> Mismatch:
    """By the first input; cotangents and inputs of random numbers if none are given."""
    a, g = np.asarray(a, float), np.asarray(g, float)
    random = np.random.default_rng(7)
    xs = [random.standard_normal(g.shape)] if xs is None else xs
    vs = [random.standard_normal(g.shape)] if vs is None else vs
    target = Claims(xs, claims or (lambda xs, vs: [a, *xs[1:]]), **attributes)
    limits = np.broadcast_to(np.asarray(limit, float), g.shape).copy()
    return Mismatch(target, 0, a, g, [np.asarray(v, float) for v in vs], limits)


def texts(kind: Callable[[Mismatch], Iterator[Guess]], found: Mismatch) -> list[str]:
    """All guesses of a kind."""
    with np.errstate(all="ignore"):
        return [guess.text for guess in kind(found)]


def explaining(kind: Callable[[Mismatch], Iterator[Guess]], found: Mismatch) -> list[str]:
    """The guesses of a kind that explain everything."""
    with np.errstate(all="ignore"):
        return [guess.text for guess in kind(found) if found.score(guess) == guess.most]
