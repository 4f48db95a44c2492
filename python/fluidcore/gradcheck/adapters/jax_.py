"""Functions of JAX arrays."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.gradcheck.adapters.callable_ import CallableTarget, name_of_dtype
from fluidcore.gradcheck.adapters.claim import Claim
from fluidcore.gradcheck.adapters.jax_trace import Trace, equations
from fluidcore.gradcheck.adapters.narrowing import another
from fluidcore.gradcheck.target.calls import cast
from fluidcore.gradcheck.target.gradient_target import NoSecondGradientError
from fluidcore.gradcheck.target.target import SHADOW, Array, Doubles, Run


class JaxTarget(CallableTarget):
    """y = f(*args) over JAX or NumPy arrays, with the gradient of jax.vjp.

    Its float64 form runs with x64 enabled, which is as before afterwards.
    """

    framework: ClassVar[str] = "JAX"
    smallest_batch = 256  # compiling f for a batch takes as long as 3,000 runs of a small one

    def __init__(self, f: Any, args: Sequence[Any], claim: Claim, name: str | None = None) -> None:
        self._jax: Any = sys.modules["jax"]
        # What the user differentiates by hand may keep values, which a trace does not have.
        self._is_traced = claim.vjp is None and claim.jvp is None and not claim.value_and_grad
        newer = hasattr(self._jax, "enable_x64")
        self._enable_x64 = (self._jax if newer else self._jax.experimental).enable_x64
        self._traces: dict[str, Trace | None] = {}
        self._compiles: dict[tuple[Callable[..., list[Any]], str], bool] = {}
        self._often: set[str] = set()  # dtypes in which the engine runs f
        self._copies: dict[int, int] = {}  # of each input, how many in a batch
        super().__init__(f, args, claim, name)

    def _gradient_code(self) -> Any:
        return getattr(self.f, "bwd", None) or getattr(self.f, "jvp", None) or self.f

    def function(self, dtype: str) -> core.Function:
        """As of Target; compiled without the gradients, because the engine runs it often."""
        self._often.add(dtype)
        return super().function(dtype)

    def batched(self, k: int, elements: Array, dtype: str) -> Run | None:
        """As of Target; where JAX has rules to run all operators on a batch."""
        if not self._is_traced:
            return None
        points = self._points([cast(put.value, dtype) for put in self.inputs], dtype)
        with self._one_run(), self._session(dtype):
            trace = self._trace(points, dtype)
        if trace is None:
            return None
        size = self._copies[k] = max(elements.size, self._copies.get(k, 0))  # compiled once
        each = np.arange(elements.size)

        def run(zs: Sequence[Doubles]) -> list[Array]:
            copies = np.repeat(points[k].reshape(1, -1), size, axis=0)
            copies[each, elements] = zs[0]
            many = copies.reshape(size, *points[k].shape)
            with self._one_run(), self._session(dtype):
                ys = trace.copies(k, [*points[:k], many, *points[k + 1 :]])
                return [self._array(y)[: elements.size] for y in ys]

        return run

    def _session(self, dtype: str) -> contextlib.AbstractContextManager[None]:
        usual = super()._session(dtype)
        return self._enable_x64(True) if dtype == SHADOW else usual

    def _points(self, xs: Sequence[Array], dtype: str) -> list[Any]:
        is_traced = self._is_traced
        return list(self._in_own_dtypes(xs, dtype)) if is_traced else super()._points(xs, dtype)

    def _values(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        if self._is_traced:
            points = self._points(xs, dtype)
            both = None
            if dtype != SHADOW and dtype not in self._often:
                with contextlib.suppress(Exception):  # where the gradients alone raise
                    both = self._run(Trace.both, dtype, points)
            ys = self._run(Trace.values, dtype, points) if both is None else both[: -len(xs)]
            if ys is not None:
                return [self._array(y) for y in ys]
            xs = super()._points(xs, dtype)
        return super()._values(xs, dtype)

    def _trace(self, points: Sequence[Array], dtype: str) -> Trace | None:
        """The function in a dtype, if it can be traced."""
        if dtype not in self._traces:
            self._traces[dtype] = None
            with contextlib.suppress(Exception):  # f looks at values, or raises
                self._traces[dtype] = Trace(self._differentiable(dtype), points)
        return self._traces[dtype]

    def _run(
        self, what: Callable[..., list[Any]], dtype: str, points: Sequence[Array], *weights: Any
    ) -> list[Any] | None:
        """What a method of the trace returns if it can be compiled, else None."""
        trace = self._trace(points, dtype)
        is_known = self._compiles.get((what, dtype))
        if trace is None or is_known is False:
            return None
        try:
            found = what(trace, points, *weights)
        except Exception:  # where it is not compiled we shall see
            if is_known:
                raise
            self._compiles[what, dtype] = False
            return None
        self._compiles[what, dtype] = True
        return found

    def _differentiable(self, dtype: str) -> Callable[..., list[Any]]:
        """A function of the inputs alone, with nothing but floating outputs."""
        f = self._function(dtype)
        return lambda *points: self._outputs(f(*self._arguments(points, dtype)))

    def _pull(self, tensors: list[Any], vs: Sequence[Any], dtype: str) -> list[Any]:
        if self._is_traced:
            has_both = self._compiles.get((Trace.both, dtype))
            what = Trace.both if has_both else Trace.gradients
            found = self._run(what, dtype, tensors, vs)
            if found is not None:
                return found[-len(tensors) :]
            tensors = super()._points(tensors, dtype)
        ys, pull = self._jax.vjp(self._differentiable(dtype), *tensors)
        return list(pull([self._cast(v, y.dtype.name) for y, v in zip(ys, vs, strict=True)]))

    def _pull_twice(
        self, tensors: list[Any], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Any]:
        try:
            return self._second(tensors, vs, us, dtype)
        except Exception as error:  # JAX has no type of its own for a rule that is missing
            message = str(error).strip().partition("\n")[0]
            why = f"{type(error).__name__}: {message}"
            raise NoSecondGradientError(why, is_promised=True) from error

    def _second(
        self, tensors: list[Any], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Any]:
        found = self._run(Trace.second, dtype, tensors, vs, us)
        if found is not None:
            return found
        jax, f, count = self._jax, self._differentiable(dtype), len(tensors)
        ys = jax.eval_shape(f, *tensors)
        cotangents = [self._cast(v, y.dtype.name) for y, v in zip(ys, vs, strict=True)]

        def gradient(*points: Any) -> list[Any]:
            return list(jax.vjp(f, *points[:count])[1](list(points[count:])))

        grads, pull = jax.vjp(gradient, *tensors, *cotangents)
        return list(pull([self._cast(u, g.dtype.name) for g, u in zip(grads, us, strict=True)]))

    def _narrowing(self, native: Sequence[Array], xs: list[Array], dtype: str) -> str:
        with self._session(dtype):
            points = self._points(xs, dtype)
            trace = self._trace(points, dtype)
            if trace and not trace.repeats(self._differentiable(dtype), points):
                return another(dtype)
        for equation in equations(trace.jaxpr.jaxpr) if trace else ():
            if equation.primitive.name == "convert_element_type":
                before = equation.invars[0].aval.dtype.name
                after = np.dtype(equation.params["new_dtype"]).name
                if before == dtype and after in FLOATING - {SHADOW, dtype}:
                    return f"it makes {after} from {before} inside"
        return super()._narrowing(native, xs, dtype)

    def _is_tensor(self, value: Any) -> bool:
        return isinstance(value, (self._jax.Array, np.ndarray, np.generic))

    def _dtype(self, tensor: Any) -> str:
        return name_of_dtype(tensor.dtype)

    def _array(self, tensor: Any) -> Array:
        return np.asarray(tensor)

    def _tensor(self, array: Array, like: Any) -> Any:
        if isinstance(like, self._jax.Array):
            return self._jax.device_put(array, like.sharding)
        return self._jax.numpy.asarray(array)

    def _cast(self, tensor: Any, dtype: str) -> Any:
        return self._jax.numpy.asarray(tensor, numpy_dtype(dtype))

    def _copy(self, tensor: Any) -> Any:
        return tensor if isinstance(tensor, self._jax.Array) else np.array(tensor)

    def _number(self, leaf: Any) -> Any:
        if isinstance(leaf, (int, float, complex)):
            return np.asarray(leaf)
        return super()._number(leaf)

    def _place(self, named: Sequence[tuple[str, Any]]) -> str:
        devices = [leaf.devices() for _, leaf in named if isinstance(leaf, self._jax.Array)]
        found = {device.platform for each in devices for device in each}
        return "gpu" if found & {"gpu", "cuda", "rocm"} else "cpu"

    def _imports(self) -> list[str]:
        return ["import jax.numpy as jnp"]

    def _literal(self, tensor: Any) -> str | None:
        dtype = self._dtype(tensor)
        if not hasattr(self._jax.numpy, dtype):
            return None  # a random key
        return f"jnp.array({np.asarray(tensor).tolist()}, jnp.{dtype})"
