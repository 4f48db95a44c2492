"""A function of eager tensors as a target: its gradient is that of the tape."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.eager.autograd import gradients_of
from fluidcore.eager.second_order import second_gradients_of
from fluidcore.eager.state import has_drawn, no_grad, noting_backward, precision, same_numbers
from fluidcore.eager.tensor import Tensor
from fluidcore.gradcheck.adapters.arguments import argument_names
from fluidcore.gradcheck.adapters.origin import source_of
from fluidcore.gradcheck.target.gradient_target import NoSecondGradientError
from fluidcore.gradcheck.target.target import Array, Input, Target


class EagerTarget(Target):
    """y = f(*tensors), where y is a tensor or a tuple of them.

    In float64 everything is calculated in float64, the tensors that f uses without getting them
    too. Random operators draw the same numbers in every run.

    Attributes:
        draws: Whether f has drawn random numbers.

    Args:
        f: A function of tensors.
        tensors: The point, floating and of one dtype.
        names: Of the tensors.
        who: What messages call f.

    Raises:
        core.InvalidArgument: The tensors or the results are not floating.
        TypeError: f returns something else.
    """

    def __init__(
        self, f: Callable[..., Any], tensors: Sequence[Tensor], names: Sequence[str], who: str
    ) -> None:
        self.f = f
        self.who = who
        self.inputs = [Input(n, t.array) for n, t in zip(names, tensors, strict=True)]
        dtypes = {tensor.dtype for tensor in tensors}
        if len(dtypes) != 1 or not dtypes <= FLOATING:
            raise core.InvalidArgument(
                f"{who}: the tensors must be floating and of one dtype, got {sorted(dtypes)}"
            )
        (self.dtype,) = dtypes
        self.source = source_of(f)
        self.has_shadow = True
        self.draws = False
        self._records = True  # in the first run, and later only if f itself calls backward

    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        """The results at `xs`."""
        records = self._records
        with self._running(dtype), contextlib.nullcontext() if records else no_grad():
            return [y.array for y in self._results([Tensor(x, requires_grad=records) for x in xs])]

    def vjp(self, xs: Sequence[Array], vs: Sequence[Array], dtype: str) -> list[Array]:
        """What the tape calculates."""
        with self._running(dtype):
            leaves = [Tensor(x, requires_grad=True) for x in xs]
            results = self._results(leaves)
            totals: list[Array | None] = [None] * len(leaves)
            for y, v in zip(results, vs, strict=True):
                if not y.requires_grad:
                    continue
                cotangent = v.astype(y.array.dtype)  # a result may be of another dtype than x
                for k, (_, array) in enumerate(gradients_of(y, leaves, cotangent)):
                    before = totals[k]
                    if array is not None:
                        totals[k] = array if before is None else before + array
        return [
            leaf.array * 0 if total is None else total
            for leaf, total in zip(leaves, totals, strict=True)
        ]

    def second_vjp(
        self, xs: Sequence[Array], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Array]:
        """The gradient operators of the tape's gradient operators."""
        with self._running(dtype):
            leaves = [Tensor(x, requires_grad=True) for x in xs]
            totals = [np.zeros_like(x) for x in xs]
            by_cotangents = []
            for y, v in zip(self._results(leaves), vs, strict=True):
                if not y.requires_grad:
                    by_cotangents.append(np.zeros_like(v))
                    continue
                try:
                    found = second_gradients_of(y, leaves, v.astype(y.array.dtype), us)
                except core.InvalidArgument as error:
                    raise NoSecondGradientError(str(error)) from error
                totals = [total + array for total, array in zip(totals, found[0], strict=True)]
                by_cotangents.append(found[1].astype(v.dtype))
        return [*totals, *by_cotangents]

    def function(self, dtype: str) -> core.Function:
        """F for the native engine, at the values of the tensors."""
        points = [part.value.astype(numpy_dtype(dtype)) for part in self.inputs]
        return core.CallableFunction(lambda xs: self.forward(xs, dtype), points)

    @contextlib.contextmanager
    def _running(self, dtype: str) -> Iterator[None]:
        with same_numbers():
            if dtype == self.dtype:
                yield
                return
            with precision(dtype, numbers=self.dtype):
                yield

    def _results(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        with noting_backward() as reached:
            value = self.f(*tensors)
        self._records = bool(reached)
        for tensor, part in zip(tensors, self.inputs, strict=True):
            if any(leaf is tensor for leaf in reached):
                raise core.InvalidArgument(
                    f"{self.who}: f must not call backward() on what depends on its arguments, got "
                    f"a gradient of '{part.name}': the tape takes it for a constant; write the "
                    "gradient in operators, or check a Program with fluidcore.gradients in it"
                )
        self.draws |= has_drawn()
        results = list(value) if isinstance(value, (list, tuple)) else [value]
        for result in results:
            if not isinstance(result, Tensor):
                raise TypeError(
                    f"{self.who}: f must return a Tensor, or a tuple of them, "
                    f"got {type(result).__name__}"
                )
        floating = [result for result in results if result.dtype in FLOATING]
        if not floating:
            raise core.InvalidArgument(
                f"{self.who}: f must return a floating tensor, got {results[0].dtype}"
            )
        return floating


def eager_target(f: Callable[..., Any], args: Sequence[Any], who: str) -> EagerTarget:
    """A function of tensors as a target; TypeError if an argument is something else."""
    for argument in args:
        if not isinstance(argument, Tensor):
            raise TypeError(
                f"{who}: all arguments must be Tensors, got {type(argument).__name__}; "
                "hand what is constant to a function of the others"
            )
    return EagerTarget(f, args, argument_names(f, len(args)), who)
