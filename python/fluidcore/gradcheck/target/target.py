"""What can be checked, seen from the checker: a function, and the gradient that is claimed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.gradcheck.target.random_numbers import random_states_kept
from fluidcore.gradcheck.target.repro import Repro

Array: TypeAlias = NDArray[Any]
Doubles: TypeAlias = NDArray[np.float64]

Run: TypeAlias = Callable[[Sequence[Doubles]], list[Array]]

SHADOW = "float64"


@dataclass(frozen=True)
class Input:
    """An input that is differentiated by.

    Attributes:
        name: As the user calls it.
        value: The point, of the dtype under test; never changed.
        rows: k > 0 promises that the input and every output, seen as k rows, depend on each other
            only within a row: elementwise means as many rows as elements. 0 promises nothing.
    """

    name: str
    value: Array
    rows: int = 0


@dataclass(frozen=True)
class Rounding:
    """How much may be rounding, in units of the roundoff.

    Attributes:
        outputs: [m], of each output element.
        gradients: For each input [n], of each element of its gradient.
    """

    outputs: Doubles
    gradients: Sequence[Doubles]


class Target(ABC):
    """A function y = f(x) of floating inputs and its vector-Jacobian product.

    Attributes:
        who: What messages start with: the operator, function or program.
        inputs: What is differentiated by.
        dtype: Of the gradient code under test: "float64", "float32", "float16" or "bfloat16".
        has_shadow: Whether f and the gradient can also be evaluated in `shadow`.
        shadow: "float64", or "float32" for code in 16 bits that calculates in float32 inside.
        fixed_cotangent: Whether the gradient is that of one number, with the cotangent 1.
        place: "cpu" or "gpu".
        runs_own_code: Whether `forward` and `vjp` call nothing of the user's: they leave their
            arguments and all random states alone, and return arrays that nobody else has.
        is_called_by_autograd: Whether the cotangents that `vjp` hands on are made by a framework:
            with any strides, or None for an output that is not used. `vjp` then takes such ones.
        native_reason: Why `has_shadow` is false, where that is known.
        source: "file.py:12" of the gradient code, where it is known.
        repro: How the check is repeated, where that is known.
        rounding: Where the sizes of outputs and gradients do not tell it.
        smallest_batch: Elements from which on `batched` is faster than a run for each.
        first_run: f at the point, in `dtype`, where it has run already and is judged in that.
        first_changes: What that run wrote into its arguments, in words.
    """

    who: str
    inputs: Sequence[Input]
    dtype: str
    has_shadow: bool = True
    shadow: str = SHADOW
    is_called_by_autograd: bool = False
    native_reason: str = ""
    fixed_cotangent: bool = False
    place: str = "cpu"
    runs_own_code: bool = False
    source: str | None = None
    repro: Repro | None = None
    rounding: Rounding | None = None
    smallest_batch: int = 0
    first_run: Sequence[Array] | None = None
    first_changes: Sequence[str] = ()

    def move_to(self, device: str) -> None:
        """Lets the gradient be calculated on a device, "cuda" or "cuda:1"; before the first run.

        Raises:
            core.InvalidArgument: There is no such device, or the target does not choose its own.
        """
        raise core.InvalidArgument(
            f"{self.who}: device must be 'cpu', got {device!r}; only operators and programs of "
            "fluidcore take one, other functions run where their tensors are"
        )

    def judged_in(self, shadow: str) -> str:
        """The dtype in which f is differentiated, where `config.shadow` is so."""
        return self.shadow if self.has_shadow and shadow == "auto" else self.dtype

    def running(self) -> AbstractContextManager[None]:
        """Entered around many runs: what they change of the world is in the end as it was."""
        return nullcontext() if self.runs_own_code else random_states_kept()

    @abstractmethod
    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        """The floating outputs at `xs`, calculated in `dtype`, which is that of `xs`."""

    def again(self, xs: Sequence[Array], ys: Sequence[Array], dtype: str) -> list[Array]:
        """A second run, where the first gave `ys`; if it gives them, too, as in `function`."""
        return self.forward(xs, dtype)

    @abstractmethod
    def vjp(self, xs: Sequence[Array], vs: Sequence[Any], dtype: str) -> list[Array]:
        """The claimed gradient of Σ v·y by every input, calculated in `dtype`.

        Args:
            xs: The point, an array for each input, of `dtype`.
            vs: Cotangents, an array for each output, of its shape and of `dtype`.
            dtype: `self.dtype`, or `self.shadow` where `has_shadow`.
        """

    def vjps(
        self, xs: Sequence[Array], many: Iterable[Sequence[Any]], dtype: str
    ) -> Iterator[list[Array]]:
        """The gradients for several cotangents, one after the other; f may run once for all.

        A cotangent is taken when the gradient for the one before has been used.
        """
        for vs in many:
            yield self.vjp(xs if self.runs_own_code else [x.copy() for x in xs], vs, dtype)

    @abstractmethod
    def function(self, dtype: str) -> core.Function:
        """The function in `dtype` for the native engine, at the values of `inputs`."""

    def batched(self, k: int, elements: Array, dtype: str) -> Run | None:
        """F at a copy of the point for each of some elements of input k, as a function of these.

        It takes a list of one array, [b], and returns an array [b, ...] for each output. None where
        f cannot run on a batch; where only a run can tell, that raises.
        """
        return None


@runtime_checkable
class TensorWithTarget(Protocol):
    """A tensor whose class says how functions of such tensors are checked: that of fluidcore.eager.

    Called with an array, the class makes a tensor.
    """

    @staticmethod
    def __gradcheck_target__(f: Callable[..., Any], args: Sequence[Any], who: str) -> Target:
        """The function as a target, at the point `args`; `who` is what messages call it."""


def own_target(f: Callable[..., Any], args: Sequence[Any], who: str) -> Target | None:
    """The target that the class of a tensor among `args` makes of a function; None if none does."""
    for argument in args:
        if hasattr(argument, "__gradcheck_target__"):  # isinstance takes longer than the check
            own: TensorWithTarget = argument
            return own.__gradcheck_target__(f, args, who)
    return None
