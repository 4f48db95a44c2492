"""A Python function of some framework's tensors as a target."""

from __future__ import annotations

import contextlib
import functools
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.gradcheck.adapters import arguments, origin
from fluidcore.gradcheck.adapters.arguments import described, narrowest_dtype
from fluidcore.gradcheck.adapters.call_repro import Text, call_repro
from fluidcore.gradcheck.adapters.claim import Claim, matched
from fluidcore.gradcheck.adapters.narrowing import rounds_inside, why_no_shadow
from fluidcore.gradcheck.target.calls import Calls, cast
from fluidcore.gradcheck.target.gradient_target import NoSecondGradientError
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.target.random_numbers import (
    are_drawn,
    draw_same_numbers,
    random_states_kept,
)
from fluidcore.gradcheck.target.repro import Repro, array_text
from fluidcore.gradcheck.target.target import SHADOW, Array, Input, Run, Target

_BARE = re.compile(r"(?<![.\w])(inf|nan)\b")  # as tolist() writes them
_NOTHING = contextlib.nullcontext()
_ELSEWHERE = (5.3, 0.19)  # times x, in turn
REPRODUCED = 64  # with more elements there is no text that repeats the check


def _are_numbers_of(dtype: str, arrays: Sequence[Array]) -> bool:
    return all(np.array_equal(y, cast(cast(y, dtype), SHADOW), equal_nan=True) for y in arrays)


@functools.cache
def name_of_dtype(dtype: Any) -> str:
    """The name of any framework's dtype: "float32"."""
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


class CallableTarget(Target):
    """A function of tensors, which may be in lists, tuples and dicts.

    Floating tensors are differentiated by; all else is constant. The user's tensors are copied.
    Where their dtypes differ, the narrowest is under test: f gets each in its own dtype, rounded to
    the narrowest, and so are the gradients. f may draw from `np.random` and `random`: it gets the
    same numbers in every run.
    """

    framework: ClassVar[str]
    tensor: ClassVar[str] = "tensor"  # what the framework calls one
    _takes_complex = False
    _cure: ClassVar[str] = "give it as one of float64 or float32"

    def __init__(self, f: Any, args: Sequence[Any], claim: Claim, name: str | None = None) -> None:
        self.f = f
        self.claim = claim
        self.who = name or self._name()
        self._is_running = False
        self._draws = True  # from those two, as far as is known; if not, runs are cheaper
        self._args = tuple(args)
        arguments.check_call(self.who, "f", f, len(self._args), "the point")
        named = [
            (path, leaf)
            for argument, label in zip(self._args, self._labels(), strict=True)
            for path, leaf in arguments.leaves(argument, label)
            if self._is_tensor(leaf)
        ]
        for path, leaf in named:
            if "complex" in self._dtype(leaf) and not self._takes_complex:
                raise core.InvalidArgument(
                    f"{self.who}: arguments must be real, got {described(leaf)} {path!r}; "
                    "check a function of its real and imaginary part"
                )
        chosen = self._differentiated(named)
        self._chosen = [i for i in chosen if self._is_differentiable(named[i][1])]
        self._tensors = [
            leaf if i in self._chosen else self._copy(leaf) for i, (_, leaf) in enumerate(named)
        ]
        self._likes = [self._tensors[i] for i in self._chosen]
        self._is_flat = len(self._chosen) == len(self._args) and all(
            map(self._is_tensor, self._args)
        )
        self.place = self._place(named)
        self.inputs = [
            Input(named[i][0], np.array(self._array(named[i][1]), order="C")) for i in self._chosen
        ]
        kind = f"{self.framework} {self.tensor}"
        self.dtype = narrowest_dtype(self.who, kind, self.inputs, args, self._cure)
        self._dtypes = [put.value.dtype.name for put in self.inputs]
        self._is_mixed = len(set(self._dtypes)) > 1
        if self._is_mixed:
            self.inputs = [replace(put, value=cast(put.value, self.dtype)) for put in self.inputs]
        self.fixed_cotangent = claim.value_and_grad
        self.source = origin.source_of(claim.vjp or self._gradient_code())
        self.repro = self._repro(named)
        with self.running():
            self.native_reason = self._first_runs()
        self.has_shadow = not self.native_reason

    def forward(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        """What f returns, its floating tensors alone."""
        with self._one_run(), self._session(dtype):
            return self._values(xs, dtype)

    def vjp(self, xs: Sequence[Array], vs: Sequence[Any], dtype: str) -> list[Array]:
        """The gradients as they come, whatever their shapes and dtypes."""
        if self.claim.vjp is not None:  # which may read what f leaves behind, at this point
            kinds = [y.dtype for y in self._run_first(xs, dtype)]
            if self._is_mixed:
                vs = [v.astype(kind) for v, kind in zip(vs, kinds, strict=True)]
        with self._one_run(), self._session(dtype):
            tensors = self._points(xs, dtype)
            if self.claim.value_and_grad:
                value = self._function(dtype)(*self._arguments(tensors, dtype))
                self._outputs(value)
                grads = self._claimed(value[1])
            elif self.claim.vjp is not None:
                cotangents = [self._tensor(v, tensors[0]) for v in vs]
                grads = self._claimed(self.claim.vjp(*self._arguments(tensors, dtype), *cotangents))
            else:
                grads = self._pull(tensors, vs, dtype)
            return self._narrowed(self._arrays(grads, xs), dtype)

    def second_vjp(
        self, xs: Sequence[Array], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Array]:
        """The framework's gradient of its gradient, or the user's where the gradient is."""
        claim = self.claim
        if claim.second_vjp is None and (claim.vjp is not None or claim.value_and_grad):
            raise NoSecondGradientError("the gradient is given, but none of it; give second_vjp=")
        if claim.second_vjp is not None:
            self._run_first(xs, dtype)
        with self._one_run(), self._session(dtype):
            tensors = self._points(xs, dtype)
            if claim.second_vjp is None:
                grads = self._pull_twice(tensors, vs, us, dtype)
            else:
                weights = [self._tensor(v, tensors[0]) for v in (*vs, *us)]
                found = claim.second_vjp(*self._arguments(tensors, dtype), *weights)
                grads = self._claimed(found)
            count = len(xs)  # an output may be of another dtype than its cotangent
            arrays = self._arrays(grads, [*xs, *vs][: len(grads)])
            rest = zip(arrays[count:], vs, strict=False)
            return self._narrowed(arrays[:count], dtype) + [
                a.astype(v.dtype, copy=False) for a, v in rest
            ]

    def jvp(self, xs: Sequence[Array], us: Sequence[Array], dtype: str) -> list[Array]:
        """The claimed derivative of the outputs along `us`, where the user has given one."""
        if self.claim.jvp is None:
            raise core.InvalidArgument(f"{self.who}: there is no forward derivative; give jvp=")
        with self._one_run(), self._session(dtype):
            points = self._arguments(self._points(xs, dtype), dtype)
            value = self.claim.jvp(*points, *self._points(us, dtype))
            found = [self._number(leaf) for _, leaf in arguments.leaves(value, "")]
            shapes = [y.shape for y in self.forward(xs, dtype)]
            if any(y is None for y in found) or [tuple(y.shape) for y in found] != shapes:
                wanted = ", ".join(str(list(shape)) for shape in shapes)
                raise core.InvalidArgument(
                    f"{self.who}: jvp must return arrays of the shapes of the outputs, {wanted}, "
                    f"got {described(value)}"
                )
            return [self._array(y) for y in found]

    def function(self, dtype: str) -> core.Function:
        """Calls f from the native engine."""
        evaluate = self._evaluation(dtype)

        def run(xs: Sequence[Array]) -> list[Array]:
            with self._one_run(), self._session(dtype):
                return evaluate(xs)

        points = [put.value.astype(numpy_dtype(dtype)) for put in self.inputs]
        return core.CallableFunction(run, points)

    def running(self) -> contextlib.AbstractContextManager[None]:
        """As of Target; within itself it does nothing."""
        return _NOTHING if self._is_running else self._kept()

    # What a framework says.

    @abstractmethod
    def _is_tensor(self, value: Any) -> bool: ...

    @abstractmethod
    def _dtype(self, tensor: Any) -> str:
        """The name of its dtype: "float32", "int64", "complex64" …."""

    @abstractmethod
    def _array(self, tensor: Any) -> Array:
        """A NumPy array of a tensor's values, a copy where the framework may change them."""

    @abstractmethod
    def _tensor(self, array: Array, like: Any) -> Any:
        """A tensor of an array's values, on the device of `like`."""

    @abstractmethod
    def _cast(self, tensor: Any, dtype: str) -> Any: ...

    @abstractmethod
    def _copy(self, tensor: Any) -> Any: ...

    def _pull(self, tensors: list[Any], vs: Sequence[Any], dtype: str) -> list[Any]:
        """The framework's own gradients at `tensors`; None stands for zeros."""
        raise NotImplementedError

    def _pull_twice(
        self, tensors: list[Any], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Any]:
        """The gradients of Σ u·gradient by the tensors, and by the cotangents; None: zeros."""
        raise NoSecondGradientError(f"second gradients of {self.framework} are not looked at")

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        """Around many runs: nothing changed after them."""
        self._is_running = True
        try:
            with random_states_kept():
                yield
        finally:
            self._is_running = False

    def _one_run(self) -> contextlib.AbstractContextManager[Any]:
        """Around a run that may be one of many."""
        return self.running()

    def _session(self, dtype: str) -> contextlib.AbstractContextManager[None]:
        """Around every run: same random numbers in it."""
        if self._draws:
            draw_same_numbers()
        return _NOTHING

    def _run_first(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        with self._one_run(), self._session(dtype):
            return self._values([x.copy() for x in xs], dtype)

    def _evaluation(self, dtype: str) -> Run:
        """Gives the outputs, in a session, at arrays that nobody else has."""
        return functools.partial(self._values, dtype=dtype)

    def _values(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        """The outputs, in a session."""
        points = self._points(xs, dtype)
        value = self._function(dtype)(*self._arguments(points, dtype))
        return [self._array(y) for y in self._outputs(value)]

    def _function(self, dtype: str) -> Callable[..., Any]:
        f: Callable[..., Any] = self.f
        return f

    def _place(self, named: Sequence[tuple[str, Any]]) -> str:
        return "cpu"

    def _gradient_code(self) -> Any:
        return self.f

    def _name(self) -> str:
        return origin.name_of(self.f)

    def _labels(self) -> list[str]:
        """A name for each argument."""
        return arguments.argument_names(self.f, len(self._args))

    def _differentiated(self, named: Sequence[tuple[str, Any]]) -> Sequence[int]:
        return range(len(named))

    def _narrowing(self, native: Sequence[Array], xs: list[Array], dtype: str) -> str:
        """What in a run in `dtype` is less than that; "" if that is nothing."""
        rounds = rounds_inside(self.forward, native, xs, self.dtype, dtype)
        return "it rounds to a smaller dtype inside" if rounds else ""

    # What is the same in every framework.

    def _is_floating(self, tensor: Any) -> bool:
        return self._dtype(tensor) in FLOATING

    def _is_differentiable(self, tensor: Any) -> bool:
        name = self._dtype(tensor)
        return name in FLOATING or ("complex" in name and self._takes_complex)

    def _first_runs(self) -> str:
        """Runs f once as it is, then in a wider dtype; returns why none is possible."""
        calls = Calls(self)
        native = calls.forward(self.dtype)
        self._draws = are_drawn()
        self.first_changes = calls.changed
        count = len(self._args) + len(native)
        given = "the point, and a cotangent for each output"
        arguments.check_call(self.who, "vjp", self.claim.vjp, count, given)
        count = len(self._args) + len(self.inputs)
        given = "the point, and a direction for each input"
        arguments.check_call(self.who, "jvp", self.claim.jvp, count, given)
        own, returned = self.dtype, max((y.dtype.name for y in native), key=UNIT.__getitem__)
        if UNIT[returned] > UNIT[own]:
            self._take_for(returned)
            return f"it returns {returned} for {own} arguments"
        if self.dtype == SHADOW:
            self.first_run = native
            return self._calculates_in_less(native)
        reason = ""
        for self.shadow in ("float64", "float32"):
            if numpy_dtype(self.shadow).itemsize <= numpy_dtype(self.dtype).itemsize:
                break
            xs = [cast(put.value, self.shadow) for put in self.inputs]
            why = why_no_shadow(self, native, xs, self._narrowing, self.shadow)
            if not why:
                return ""
            reason = reason or why
        self.first_run = native
        return self._calculates_in_less(native) or reason

    def _calculates_in_less(self, native: Sequence[Array]) -> str:
        """Takes f for code of the smaller dtype that it calculates in, if there is one."""
        dtype = self._inner_dtype(native)
        if not dtype:
            return ""
        self._take_for(dtype)
        return f"it calculates in {dtype}, whatever it is given"

    def _take_for(self, dtype: str) -> None:
        """Takes f for code of a smaller dtype.

        It is given what it was given before, wider tensors, at the nearest numbers of that dtype.
        """
        self._is_mixed, self.dtype, self.first_run = True, dtype, None
        self.inputs = [replace(put, value=cast(put.value, dtype)) for put in self.inputs]

    def _inner_dtype(self, native: Sequence[Array]) -> str:
        """The smallest dtype whose numbers f returns for float64, if it feels no smaller steps."""
        if self.dtype != SHADOW or not _are_numbers_of("float32", native):
            return ""
        xs = [put.value for put in self.inputs]
        for dtype in ("bfloat16", "float16", "float32"):
            if not _are_numbers_of(dtype, native):
                continue
            if not rounds_inside(self.forward, native, xs, dtype, smaller=dtype):
                continue
            far = []  # what cancels may leave few digits here, but hardly elsewhere, too
            with contextlib.suppress(Exception):  # beyond the domain
                far = self.forward([x * np.resize(_ELSEWHERE, x.shape) for x in xs], SHADOW)
            if _are_numbers_of(dtype, far):
                return dtype
        return ""

    def _arrays(self, grads: Sequence[Any], xs: Sequence[Array]) -> list[Array]:
        """The gradients by xs; None stands for zeros."""
        return [
            np.zeros_like(x) if grad is None else self._array(grad)
            for x, grad in zip(xs, grads, strict=True)
        ]

    def _points(self, xs: Sequence[Array], dtype: str) -> list[Any]:
        arrays = self._in_own_dtypes(xs, dtype)
        return [self._tensor(x, like) for x, like in zip(arrays, self._likes, strict=True)]

    def _in_own_dtypes(self, xs: Sequence[Array], dtype: str) -> Sequence[Array]:
        if not self._is_mixed or dtype != self.dtype:
            return xs
        return [x.astype(numpy_dtype(own)) for x, own in zip(xs, self._dtypes, strict=True)]

    def _narrowed(self, grads: list[Array], dtype: str) -> list[Array]:
        """The gradients in `dtype`, if each has that of its input."""
        if not self._is_mixed or dtype != self.dtype:
            return grads
        return [
            cast(grad, dtype) if grad.dtype == numpy_dtype(own) else grad
            for grad, own in zip(grads, self._dtypes, strict=True)
        ]

    def _arguments(self, points: Sequence[Any], dtype: str) -> Any:
        """The arguments of f with `points` in the place of what is differentiated by."""
        if self._is_flat:
            return points
        tensors = list(self._tensors)
        for i, tensor in enumerate(tensors):
            is_wide = dtype != self.dtype and i not in self._chosen
            if is_wide and self._is_differentiable(tensor):
                tensors[i] = self._cast(tensor, dtype)
        for i, point in zip(self._chosen, points, strict=True):
            tensors[i] = point
        return arguments.replaced(self._args, self._is_tensor, iter(tensors))

    def _outputs(self, value: Any) -> list[Any]:
        """The floating tensors of what f has returned."""
        if self.claim.value_and_grad:
            if not (isinstance(value, tuple) and len(value) == 2):
                raise core.InvalidArgument(
                    f"{self.who}: with value_and_grad it must return (value, gradients), got "
                    f"{described(value)}"
                )
            value = value[0]
        elif self._is_tensor(value) and self._is_floating(value):
            return [value]
        found = [self._number(leaf) for _, leaf in arguments.leaves(value, "")]
        is_complex = any("complex" in self._dtype(leaf) for leaf in found if leaf is not None)
        if is_complex and not self._takes_complex:
            raise core.InvalidArgument(f"{self.who}: outputs must be real, got {described(value)}")
        if any(leaf is None for leaf in found) or not any(map(self._is_differentiable, found)):
            raise core.InvalidArgument(
                f"{self.who}: must return a floating {self.framework} {self.tensor}, or a tuple of "
                f"them, got {described(value)}"
            )
        found = [leaf for leaf in found if self._is_differentiable(leaf)]
        if self.claim.value_and_grad and (len(found) != 1 or self._array(found[0]).size != 1):
            raise core.InvalidArgument(
                f"{self.who}: with value_and_grad the value must be one number, got "
                f"{described(value)}; give a vjp instead"
            )
        return found

    def _number(self, leaf: Any) -> Any:
        """`leaf` as a tensor; None if it is none."""
        return leaf if self._is_tensor(leaf) else None

    def _claimed(self, grads: Any) -> list[Any]:
        """The user's gradients, one for each input."""
        one_argument = len(self._args) == 1 and not (isinstance(grads, tuple) and len(grads) == 1)
        if one_argument:
            grads = (grads,)
        elif not isinstance(grads, (tuple, list)):
            grads = [grads]
        found = matched(grads, self._args, self._is_tensor, self._chosen)
        if found is None:
            names = ", ".join(put.name for put in self.inputs)
            raise core.InvalidArgument(
                f"{self.who}: its gradient must return an array for each of {names}, got "
                f"{described(grads)}"
            )
        for grad, put in zip(found, self.inputs, strict=True):
            number = self._number(grad)
            if grad is not None and (number is None or "complex" in self._dtype(number)):
                raise core.InvalidArgument(
                    f"{self.who}: the gradient by {put.name} must be a real {self.framework} "
                    f"{self.tensor}, got {described(grad)}"
                )
        return [None if grad is None else self._number(grad) for grad in found]

    def _repro(self, named: Sequence[tuple[str, Any]]) -> Repro | None:
        if sum(put.value.size for put in self.inputs) > REPRODUCED:
            return None
        texts = [self._literal(leaf) for _, leaf in named]
        if None in texts:
            return None
        args = arguments.replaced(self._args, self._is_tensor, map(Text, map(str, texts)))
        imports = self._imports()
        if any(_BARE.search(text) for text in map(str, texts)):
            imports = ["from math import inf, nan", *imports]
        return call_repro(self.f, args, self.claim, imports)

    def _imports(self) -> list[str]:
        return ["import numpy as np"]

    def _literal(self, tensor: Any) -> str | None:
        """Python text of a tensor; None if there is no short one."""
        return array_text(self._array(tensor))
