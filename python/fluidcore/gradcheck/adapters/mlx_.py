"""Functions of MLX arrays."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.adapters.callable_ import CallableTarget, name_of_dtype
from fluidcore.gradcheck.adapters.claim import Claim
from fluidcore.gradcheck.target.gradient_target import NoSecondGradientError
from fluidcore.gradcheck.target.target import SHADOW, Array

_SEED = 0


class MlxTarget(CallableTarget):
    """y = f(*args) over MLX arrays, with the gradient of mlx.core.vjp.

    Its float64 form runs on the CPU; some functions of MLX calculate in float32 even there, and
    then there is none.
    """

    framework: ClassVar[str] = "MLX"

    def __init__(self, f: Any, args: Sequence[Any], claim: Claim, name: str | None = None) -> None:
        self._mx: Any = sys.modules["mlx.core"]
        super().__init__(f, args, claim, name)

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        random = self._mx.random
        high, low = random.state[0].tolist()
        try:
            with super()._kept():
                yield
        finally:
            random.seed(high << 32 | low)  # a key is the two halves of its seed

    def _session(self, dtype: str) -> contextlib.AbstractContextManager[None]:
        usual = super()._session(dtype)
        self._mx.random.seed(_SEED)
        on_cpu: contextlib.AbstractContextManager[None] = self._mx.stream(self._mx.cpu)
        return on_cpu if dtype == SHADOW else usual

    def _pull(self, tensors: list[Any], vs: Sequence[Any], dtype: str) -> list[Any]:
        f = self._differentiable(dtype)
        _, grads = self._mx.vjp(f, tensors, self._like(f(*tensors), vs))
        return list(grads)

    def _pull_twice(
        self, tensors: list[Any], vs: Sequence[Array], us: Sequence[Array], dtype: str
    ) -> list[Any]:
        f, count = self._differentiable(dtype), len(tensors)
        points = [*tensors, *self._like(f(*tensors), vs)]

        def gradient(*points: Any) -> list[Any]:
            return list(self._mx.vjp(f, list(points[:count]), list(points[count:]))[1])

        try:
            return list(self._mx.vjp(gradient, points, self._like(tensors, us))[1])
        except (RuntimeError, ValueError) as error:  # a primitive without a rule
            raise NoSecondGradientError(str(error), is_promised=True) from error

    def _differentiable(self, dtype: str) -> Callable[..., list[Any]]:
        """A function of the inputs alone, with nothing but floating outputs."""
        f = self._function(dtype)
        return lambda *points: self._outputs(f(*self._arguments(points, dtype)))

    def _like(self, tensors: Sequence[Any], arrays: Sequence[Array]) -> list[Any]:
        """The arrays as tensors of the dtypes of `tensors`."""
        pairs = zip(tensors, arrays, strict=True)
        return [self._cast(self._tensor(array, y), self._dtype(y)) for y, array in pairs]

    def _is_tensor(self, value: Any) -> bool:
        return isinstance(value, self._mx.array)

    def _dtype(self, tensor: Any) -> str:
        return name_of_dtype(tensor.dtype)

    def _array(self, tensor: Any) -> Array:
        if self._dtype(tensor) == "bfloat16":
            return np.array(tensor.view(self._mx.uint16)).view(numpy_dtype("bfloat16"))
        return np.array(tensor)

    def _tensor(self, array: Array, like: Any) -> Any:
        if array.dtype == numpy_dtype("bfloat16"):
            return self._mx.array(array.view(np.uint16)).view(self._mx.bfloat16)
        return self._mx.array(array, getattr(self._mx, array.dtype.name))

    def _cast(self, tensor: Any, dtype: str) -> Any:
        return tensor.astype(getattr(self._mx, dtype))

    def _copy(self, tensor: Any) -> Any:
        return self._mx.array(tensor)

    def _place(self, named: Sequence[tuple[str, Any]]) -> str:
        return "gpu" if self._mx.default_device().type == self._mx.gpu else "cpu"

    def _imports(self) -> list[str]:
        return ["import mlx.core as mx"]

    def _literal(self, tensor: Any) -> str | None:
        return f"mx.array({tensor.tolist()}, mx.{self._dtype(tensor)})"
