"""Functions of MLX arrays."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from fluidcore.dtypes import numpy_dtype
from fluidcore.gradcheck.adapters.callable_ import CallableTarget
from fluidcore.gradcheck.adapters.claim import Claim
from fluidcore.gradcheck.target import SHADOW, Array

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
    def _session(self, dtype: str) -> Iterator[None]:
        random = self._mx.random
        high, low = random.state[0].tolist()
        random.seed(_SEED)
        try:
            with self._mx.stream(self._mx.cpu) if dtype == SHADOW else contextlib.nullcontext():
                yield
        finally:
            random.seed(high << 32 | low)  # a key is the two halves of its seed

    def _pull(self, tensors: list[Any], vs: Sequence[Array], dtype: str) -> list[Any]:
        def differentiable(*points: Any) -> list[Any]:
            return self._outputs(self._function(dtype)(*self._arguments(points, dtype)))

        shapes = differentiable(*tensors)
        cotangents = [
            self._cast(self._tensor(v, y), self._dtype(y)) for v, y in zip(vs, shapes, strict=True)
        ]
        _, grads = self._mx.vjp(differentiable, tensors, cotangents)
        return list(grads)

    def _is_tensor(self, value: Any) -> bool:
        return isinstance(value, self._mx.array)

    def _dtype(self, tensor: Any) -> str:
        return str(tensor.dtype).rpartition(".")[2]

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
