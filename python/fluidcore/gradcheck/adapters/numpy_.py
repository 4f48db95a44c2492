"""A function of NumPy arrays whose gradient the user has written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.adapters.callable_ import CallableTarget, name_of_dtype
from fluidcore.gradcheck.adapters.claim import Claim
from fluidcore.gradcheck.adapters.origin import name_of
from fluidcore.gradcheck.target.target import Array


class NumpyTarget(CallableTarget):
    """y = f(*args) over NumPy arrays; NumPy scalars count as arrays, Python numbers do not."""

    framework: ClassVar[str] = "NumPy"
    tensor: ClassVar[str] = "array"
    _cure: ClassVar[str] = "make it one with np.asarray(x, 'float64')"

    def __init__(self, f: Any, args: Sequence[Any], claim: Claim, name: str | None = None) -> None:
        if claim.vjp is None and not claim.value_and_grad:
            raise core.InvalidArgument(
                f"{name or name_of(f)}: a function of NumPy arrays must come with its gradient, "
                "got none; give vjp=, or value_and_grad=True if it returns (value, gradient)"
            )
        super().__init__(f, args, claim, name)

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        with super()._kept(), np.errstate(all="ignore"):  # a step beyond the domain is no fault
            yield

    def _one_run(self) -> contextlib.AbstractContextManager[Any]:
        is_free = not (self._draws or self._is_running)
        return np.errstate(all="ignore") if is_free else super()._one_run()

    def _is_tensor(self, value: Any) -> bool:
        return isinstance(value, (np.ndarray, np.generic))

    def _dtype(self, tensor: Any) -> str:
        return name_of_dtype(tensor.dtype)

    def _array(self, tensor: Any) -> Array:
        return np.asarray(tensor)

    def _tensor(self, array: Array, like: Any) -> Any:
        return array

    def _cast(self, tensor: Any, dtype: str) -> Any:
        return tensor.astype(numpy_dtype(dtype))

    def _copy(self, tensor: Any) -> Any:
        return np.array(tensor)

    def _number(self, leaf: Any) -> Any:
        if isinstance(leaf, (int, float, complex)):
            return np.asarray(leaf)
        return super()._number(leaf)
