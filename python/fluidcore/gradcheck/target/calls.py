"""Calls of a target: on copies, counted, and with what is wrong about them written down."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, dtype_name, numpy_dtype
from fluidcore.gradcheck.target.strides import same_strides
from fluidcore.gradcheck.target.target import Array, Doubles, Input, Target
from fluidcore.gradcheck.verdict import Reason


class Fault(NamedTuple):
    """Why a gradient cannot even be compared."""

    reason: Reason
    detail: str


class Calls:
    """The functions of a target, as the checks call them.

    Every call gets copies of its arguments. What comes back is copied, too: a function may return
    its input, or a buffer that it will use again. A target that runs no code of the user's needs no
    copies.

    Attributes:
        target: What is called.
        forwards: Evaluations of f so far.
        backwards: Evaluations of the gradient so far.
        faults: By the index of the input and the dtype, what was wrong with the form of a gradient;
            the first of each. The values of such a gradient are NaN.
        changed: What f or the gradient wrote into its arguments, in words; the first of each.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self._trusts = target.runs_own_code
        self.forwards = 0
        self.backwards = 0
        self.faults: dict[tuple[int, str], Fault] = {}
        self.changed = list(target.first_changes)

    def point(self, dtype: str) -> list[Array]:
        """The inputs in `dtype`, not to be changed."""
        if self._trusts:
            return self._values(dtype)
        return [cast(part.value, dtype) for part in self.target.inputs]

    def _values(self, dtype: str) -> list[Array]:
        known = numpy_dtype(dtype)
        return [part.value.astype(known, copy=False) for part in self.target.inputs]

    def forward(self, dtype: str, xs: Sequence[Array] | None = None) -> list[Array]:
        """The outputs, all arrays being of `dtype`; xs is where, None for the point."""
        return self._outputs(self.target.forward, dtype, xs)

    def again(self, ys: Sequence[Array], dtype: str) -> list[Array]:
        """The outputs at the point in a second run; ys are those of the first."""
        return self._outputs(lambda xs, dtype: self.target.again(xs, ys, dtype), dtype, None)

    def _outputs(
        self, f: Callable[..., list[Array]], dtype: str, xs: Sequence[Array] | None
    ) -> list[Array]:
        self.forwards += 1
        given = self._given(dtype, xs)
        with Noted(self.target.who, "f", self.target.inputs):
            outputs = f(given, dtype)
        self._compare_point("f changes its input", given, dtype, xs)
        if not isinstance(outputs, (list, tuple)):
            raise TypeError(
                f"{self.target.who}: f must return a list of arrays, got {type(outputs).__name__}"
            )
        return [self._output(k, y) for k, y in enumerate(outputs)]

    def gradient(
        self, vs: Sequence[Array | None], dtype: str, xs: Sequence[Array] | None = None
    ) -> list[Doubles]:
        """The claimed gradients, flattened, as float64.

        Args:
            vs: Cotangents; their strides are kept. None only where the target takes it.
            dtype: Of all arrays.
            xs: Where; None for the point.
        """
        self.backwards += 1
        weights = self._copied(vs)
        given = self._given(dtype, xs)
        with Noted(self.target.who, "the gradient", self.target.inputs):
            found: Any = self.target.vjp(given, weights, dtype)
        self._compare_point("the gradient changes the input", given, dtype, xs)
        self._compare("the gradient changes the cotangent of output", vs, weights)
        del weights  # as large as the outputs
        return self._received(found, given, dtype)

    def gradients(self, many: Iterable[Sequence[Array]], dtype: str) -> Iterator[list[Doubles]]:
        """The claimed gradients at the point for several cotangents, which may share a run of f.

        Each is asked for when its turn comes, so that one at a time needs memory.
        """
        given = self._given(dtype, None)

        def received(found: Any) -> list[Doubles]:
            self.backwards += 1
            return self._received(found, given, dtype)

        yield from map(received, self.target.vjps(given, self._lent(many), dtype))
        self._compare_point("the gradient changes the input", given, dtype, None)

    def _lent(self, many: Iterable[Sequence[Array]]) -> Iterator[Sequence[Array | None]]:
        for vs in many:
            weights = self._copied(vs)
            yield weights
            self._compare("the gradient changes the cotangent of output", vs, weights)
            del vs, weights  # as large as the outputs

    def _copied(self, vs: Sequence[Array | None]) -> Sequence[Array | None]:
        return vs if self._trusts else [None if v is None else same_strides(v) for v in vs]

    def _received(self, found: Any, given: Sequence[Array], dtype: str) -> list[Doubles]:
        count = len(given)
        if not isinstance(found, (list, tuple)) or len(found) != count:
            got = f"{len(found)} arrays" if isinstance(found, (list, tuple)) else _kind(found)
            for k in range(count):
                text = f"the gradient must be a list of {count} arrays, got {got}"
                self.faults.setdefault((k, dtype), Fault(Reason.WRONG_SHAPE, text))
            found = [None] * count
        pairs = zip(found, given, strict=True)
        return [self._checked(k, a, x, dtype) for k, (a, x) in enumerate(pairs)]

    def sample(self, xs: Sequence[Array], vs: Sequence[Array], dtype: str) -> list[Doubles]:
        """The same at a point of the checker's choice: NaN where the gradient is not defined."""
        try:
            return self.gradient(vs, dtype, xs)
        except Exception:
            return [np.full(x.size, np.nan) for x in xs]

    def _checked(self, k: int, found: Any, x: Array, dtype: str) -> Doubles:
        fault = _fault(found, x, dtype)
        if fault is None:
            copies = None if self._trusts else True
            return np.array(found, dtype=np.float64, copy=copies).reshape(-1)
        self.faults.setdefault((k, dtype), fault)
        return np.full(x.size, np.nan)

    def _output(self, k: int, y: Any) -> Array:
        if y is None or not (hasattr(y, "dtype") and hasattr(y, "shape")):
            raise TypeError(f"{self.target.who}: output {k} of f must be an array, got {_kind(y)}")
        array: Array = y if self._trusts else np.array(y)
        if array.dtype != np.float64 and array.dtype.name not in FLOATING:
            raise core.InvalidArgument(
                f"{self.target.who}: output {k} of f must be floating to be differentiated, "
                f"got {array.dtype.name}"
            )
        return array

    def _given(self, dtype: str, xs: Sequence[Array] | None) -> Sequence[Array]:
        if xs is None:
            return self.point(dtype)
        return xs if self._trusts else [x.copy() for x in xs]

    def _compare_point(
        self, what: str, given: Sequence[Array], dtype: str, xs: Sequence[Array] | None
    ) -> None:
        if not self._trusts:  # the point is made anew: no copy of it is kept during a call
            self._compare(what, self._values(dtype) if xs is None else xs, given)

    def _compare(
        self, what: str, before: Sequence[Array | None], after: Sequence[Array | None]
    ) -> None:
        for k, (old, new) in enumerate(zip(before, after, strict=True)):
            if old is not new and not core.same_bits(np.asarray(old), np.asarray(new)):
                name = f"'{self.target.inputs[k].name}'" if "input" in what else str(k)
                text = f"{what} {name}"
                if text not in self.changed:
                    self.changed.append(text)


class Noted:
    """Adds to an exception whose function raised it, and at which inputs."""

    def __init__(self, who: str, what: str, inputs: Sequence[Input]) -> None:
        self._who, self._what, self._inputs = who, what, inputs

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        if isinstance(error, Exception):
            where = ", ".join(
                f"{part.name} {part.value.dtype.name} {list(part.value.shape)}"
                for part in self._inputs
            )
            error.add_note(f"{self._who}: raised by {self._what} at the inputs {where}")


def cast(value: Any, dtype: str) -> Array:
    """A row-major copy in `dtype`."""
    if type(value) is np.ndarray and value.dtype == numpy_dtype(dtype):
        return np.array(value, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(value).astype(numpy_dtype(dtype), order="C")


def flat(arrays: Sequence[Array]) -> Doubles:
    """All elements of all arrays, one after the other, as float64; read-only."""
    parts = [np.asarray(a).astype(np.float64, copy=False).reshape(-1) for a in arrays]
    elements = joined(parts) if parts else np.zeros(0)
    elements.flags.writeable = False
    return elements


def joined(arrays: Sequence[Array]) -> Array:
    """The same in their own dtype; of one array a view."""
    parts = [a.reshape(-1) for a in arrays]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def size_of(value: Array) -> float:
    """The root mean square of the elements; 1 where all are 0, or there are none."""
    x = np.asarray(value).astype(np.float64, copy=False)
    return math.sqrt(float(np.sum(x * x)) / max(x.size, 1)) or 1.0


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _fault(found: Any, x: Array, dtype: str) -> Fault | None:
    if type(found) is np.ndarray and found.dtype == x.dtype and found.shape == x.shape:
        return None
    if not (hasattr(found, "dtype") and hasattr(found, "shape")):
        return Fault(Reason.WRONG_SHAPE, f"the gradient must be an array, got {_kind(found)}")
    if tuple(found.shape) != x.shape:
        text = f"the gradient must have the shape of the input, {list(x.shape)}"
        return Fault(Reason.WRONG_SHAPE, f"{text}, got {list(found.shape)}")
    name = str(np.dtype(found.dtype).name)
    if name not in FLOATING or dtype_name(name) != dtype:
        text = f"the gradient must have the dtype of the input, {dtype}, got {name}"
        return Fault(Reason.WRONG_DTYPE, text)
    return None
