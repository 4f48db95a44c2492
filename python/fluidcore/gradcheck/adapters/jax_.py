"""Functions of JAX arrays."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from fluidcore.base.dtypes import FLOATING, numpy_dtype
from fluidcore.gradcheck.adapters.callable_ import CallableTarget, name_of_dtype
from fluidcore.gradcheck.adapters.claim import Claim
from fluidcore.gradcheck.adapters.jax_compiled import compiled
from fluidcore.gradcheck.target.gradient_target import NoSecondGradientError
from fluidcore.gradcheck.target.random_numbers import draw_same_numbers
from fluidcore.gradcheck.target.target import SHADOW, Array


class JaxTarget(CallableTarget):
    """y = f(*args) over JAX or NumPy arrays, with the gradient of jax.vjp.

    Its float64 form runs with x64 enabled, which is as before afterwards.
    """

    framework: ClassVar[str] = "JAX"

    def __init__(self, f: Any, args: Sequence[Any], claim: Claim, name: str | None = None) -> None:
        self._jax: Any = sys.modules["jax"]
        # What the user differentiates by hand may keep values, which a trace does not have.
        self._is_traced = claim.vjp is None and claim.jvp is None and not claim.value_and_grad
        self._compiled: dict[tuple[str, str], Callable[..., list[Any]] | None] = {}
        super().__init__(f, args, claim, name)

    def _gradient_code(self) -> Any:
        return getattr(self.f, "bwd", None) or getattr(self.f, "jvp", None) or self.f

    @contextlib.contextmanager
    def _session(self, dtype: str) -> Iterator[None]:
        newer = hasattr(self._jax, "enable_x64")
        enable = self._jax.enable_x64 if newer else self._jax.experimental.enable_x64
        with enable(True) if dtype == SHADOW else contextlib.nullcontext():
            yield

    def _points(self, xs: Sequence[Array], dtype: str) -> list[Any]:
        is_traced = self._is_traced
        return list(self._in_own_dtypes(xs, dtype)) if is_traced else super()._points(xs, dtype)

    def _values(self, xs: Sequence[Array], dtype: str) -> list[Array]:
        if self._is_traced:
            ys = self._run("f", self._differentiable(dtype), self._points(xs, dtype), dtype)
            if ys is not None:
                return [self._array(y) for y in ys]
            xs = super()._points(xs, dtype)
        return super()._values(xs, dtype)

    def _run(
        self, what: str, f: Callable[..., list[Any]], arrays: Sequence[Array], dtype: str
    ) -> list[Any] | None:
        """What f returns if it can be compiled, else None."""
        if (what, dtype) not in self._compiled:
            draw_same_numbers()  # which a trace keeps
            try:
                run = compiled(f, arrays)
                ys = run(*arrays)
            except Exception:  # f looks at values, or raises: where it is not traced we shall see
                self._compiled[what, dtype] = None
                return None
            self._compiled[what, dtype] = run
            return ys
        known = self._compiled[what, dtype]
        return None if known is None else known(*arrays)

    def _differentiable(self, dtype: str) -> Callable[..., list[Any]]:
        """A function of the inputs alone, with nothing but floating outputs."""
        f = self._function(dtype)
        return lambda *points: self._outputs(f(*self._arguments(points, dtype)))

    def _pull(self, tensors: list[Any], vs: Sequence[Any], dtype: str) -> list[Any]:
        def gradients(*arrays: Any) -> list[Any]:
            points, weights = arrays[: len(tensors)], arrays[len(tensors) :]
            ys, pull = self._jax.vjp(self._differentiable(dtype), *points)
            cotangents = [self._cast(v, y.dtype.name) for y, v in zip(ys, weights, strict=True)]
            return list(pull(cotangents))

        if self._is_traced:
            found = self._run("gradient", gradients, [*tensors, *vs], dtype)
            if found is not None:
                return found
            tensors = super()._points(tensors, dtype)
        return gradients(*tensors, *vs)

    def _pull_twice(
        self, tensors: list[Any], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Any]:
        jax, f = self._jax, self._differentiable(dtype)
        count = len(tensors)
        ys = jax.eval_shape(f, *tensors)
        cotangents = [self._cast(v, y.dtype.name) for y, v in zip(ys, vs, strict=True)]

        def gradient(*points: Any) -> list[Any]:
            return list(jax.vjp(f, *points[:count])[1](list(points[count:])))

        try:
            grads, pull = jax.vjp(gradient, *tensors, *cotangents)
            return list(pull([self._cast(u, g.dtype.name) for g, u in zip(grads, us, strict=True)]))
        except Exception as error:  # JAX has no type of its own for a rule that is missing
            message = str(error).strip().partition("\n")[0]
            why = f"{type(error).__name__}: {message}"
            raise NoSecondGradientError(why, is_promised=True) from error

    def _narrowing(self, xs: list[Array], dtype: str) -> str:
        with self._session(dtype):
            traced = self._jax.make_jaxpr(self._differentiable(dtype))(*self._points(xs, dtype))
        for equation in _equations(traced.jaxpr):
            if equation.primitive.name == "convert_element_type":
                before = equation.invars[0].aval.dtype.name
                after = np.dtype(equation.params["new_dtype"]).name
                if before == dtype and after in FLOATING - {SHADOW, dtype}:
                    return f"it makes {after} from {before} inside"
        return super()._narrowing(xs, dtype)

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


def _equations(jaxpr: Any) -> Iterator[Any]:
    """The steps of a traced function, those of inner functions too."""
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for inner in value if isinstance(value, (list, tuple)) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from _equations(inner)
