"""One trace of a function of JAX arrays, and all that a check runs of it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidcore.gradcheck.adapters.jax_compiled import Program, compiled, traced
from fluidcore.gradcheck.target.target import Array


class Trace:
    """A function of arrays as JAX traces it, compiled in each form when that is wanted.

    Args:
        f: From arrays to a list of arrays.
        points: Its arguments; later ones are of the same shapes and dtypes.

    Attributes:
        jaxpr: What f does.

    Raises:
        Exception: Whatever f raises where its arguments have no values yet.
    """

    def __init__(self, f: Program, points: Sequence[Array]) -> None:
        from jax.extend.core import jaxpr_as_fun  # type: ignore[import-not-found]

        self._jax: Any = sys.modules["jax"]
        self.jaxpr = traced(f, points)
        self._replay: Program = jaxpr_as_fun(self.jaxpr)
        self._count = len(points)
        self._no_weights = [np.zeros(y.shape, y.dtype) for y in self.jaxpr.out_avals]
        self._programs: dict[Hashable, Program] = {}

    def repeats(self, f: Program, points: Sequence[Array]) -> bool:
        """Whether f, traced anew, has the values of this trace, not those of other numbers."""
        with contextlib.suppress(Exception):  # what does not compile is not traced
            first, second = compiled(self.jaxpr), compiled(traced(f, points))
            if first is not second:
                pairs = zip(first(*points), second(*points), strict=True)
                return all(np.array_equal(y, again, equal_nan=True) for y, again in pairs)
        return True

    def values(self, points: Sequence[Array]) -> list[Any]:
        """The outputs at a point."""
        if "values" not in self._programs:
            self._programs["values"] = compiled(self.jaxpr)
        return self._programs["values"](*points)

    def gradients(self, points: Sequence[Array], vs: Sequence[Array]) -> list[Any]:
        """The gradients of Σ v·f by every argument."""
        return self._run("gradients", self._gradients, [*points, *self._weights(vs)])

    def both(self, points: Sequence[Array], vs: Sequence[Array] | None = None) -> list[Any]:
        """The outputs, then the gradients: that compiles about as fast as these alone."""
        weights = self._no_weights if vs is None else self._weights(vs)
        return self._run("both", self._both, [*points, *weights])

    def second(
        self, points: Sequence[Array], vs: Sequence[Array], us: Sequence[Array]
    ) -> list[Any]:
        """The gradients of Σ u·gradients by every argument and every v."""

        def second(*arrays: Any) -> list[Any]:
            inputs, weights = arrays[: -self._count], arrays[-self._count :]
            _, pull = self._jax.vjp(self._gradients, *inputs)
            return list(pull(list(weights)))

        arrays = [*points, *self._weights(vs)]
        us = [np.asarray(u, x.dtype) for u, x in zip(us, points, strict=True)]
        return self._run("second", second, [*arrays, *us])

    def copies(self, k: int, points: Sequence[Array]) -> list[Any]:
        """The outputs [b, ...] at copies [b, ...] of argument `k`, with the other arguments."""
        axes = [0 if i == k else None for i in range(self._count)]
        many = self._jax.vmap(self._replay, in_axes=axes, out_axes=0)
        return self._run(("copies", k, len(points[k])), many, points)

    def _gradients(self, *arrays: Any) -> list[Any]:
        _, pull = self._jax.vjp(self._replay, *arrays[: self._count])
        return list(pull(list(arrays[self._count :])))

    def _both(self, *arrays: Any) -> list[Any]:
        # With a rule of the user's, jax.vjp returns other values than f.
        return [*self._replay(*arrays[: self._count]), *self._gradients(*arrays)]

    def _weights(self, vs: Sequence[Array]) -> list[Array]:
        return [np.asarray(v, y.dtype) for v, y in zip(vs, self._no_weights, strict=True)]

    def _run(self, name: Hashable, f: Program, arrays: Sequence[Array]) -> list[Any]:
        if name not in self._programs:
            self._programs[name] = compiled(traced(f, arrays))
        return self._programs[name](*arrays)


def equations(jaxpr: Any) -> Iterator[Any]:
    """The steps of a traced function, those of inner functions too."""
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for inner in value if isinstance(value, (list, tuple)) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from equations(inner)
