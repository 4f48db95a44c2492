"""The value of a tensor as numbers, as an array, and as a tensor of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fluidcore import core
from fluidcore.eager.notes import check_known
from fluidcore.eager.operation import Array

if TYPE_CHECKING:
    from fluidcore.eager.tensor import Tensor

_CPU = (1, 0)  # DLPack's device


class Exchange:
    """What other code sees of a tensor; for a class with an `array` that nobody changes."""

    __slots__ = ()

    array: Array

    def numpy(self) -> Array:
        """The value, read-only; of the tensor's shape and dtype."""
        view: Array = check_known("numpy()", self.array).view()
        view.flags.writeable = False
        return view

    def item(self) -> Any:
        """The one element, as a Python number."""
        if self.array.size != 1:
            raise core.InvalidArgument(
                f"item: the tensor must have one element, got {list(self.array.shape)}"
            )
        return check_known("item()", self.array).item()

    def tolist(self) -> Any:
        """The value as nested lists of Python numbers."""
        return check_known("tolist()", self.array).tolist()

    def to_vec(self) -> list[Any]:
        """The elements as a flat list of Python numbers, which `from_vec` takes."""
        flat: list[Any] = check_known("to_vec()", self.array).reshape(-1).tolist()
        return flat

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        view = self.numpy()
        if dtype is not None and view.dtype != dtype:
            return view.astype(dtype)
        return view.copy() if copy else view

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The value for `torch.from_dlpack(x)`, `np.from_dlpack(x)`: a copy that they may change.

        With copy=False it is the memory itself, for those who know that it must only be read.

        Raises:
            BufferError: The device is no CPU; or copy=False, and who asks does not know memory that
                must only be read.
        """
        if dl_device is not None and tuple(dl_device) != _CPU:
            raise BufferError(f"dlpack: the device must be the CPU, {_CPU}, got {dl_device}")
        if copy is False:
            return self.numpy().__dlpack__(stream=stream, max_version=max_version, copy=False)
        tensor = core.Tensor()
        tensor.set(check_known("dlpack", self.array))
        return tensor.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        if self.array.size == 1:
            check_known("if", self.array)
        return bool(self.item())


def from_dlpack(source: Any, requires_grad: bool = False) -> Tensor:
    """A copy of a tensor of PyTorch, JAX, NumPy or another library that has `__dlpack__`.

    Args:
        source: On the CPU, of any shape, with an element type that fluidcore has.
        requires_grad: Whether `backward` calculates the gradient by it; floating only.

    Raises:
        TypeError: It has no `__dlpack__`.
        core.InvalidArgument: Another device or element type.
    """
    from fluidcore.eager.tensor import Tensor

    if not hasattr(source, "__dlpack__"):
        raise TypeError(
            f"from_dlpack: the argument must have __dlpack__, got {type(source).__name__}; "
            "eager.tensor takes arrays and lists"
        )
    if not isinstance(source, np.ndarray):  # which hands out no memory that must only be read
        source = np.asarray(core.Tensor.from_dlpack(source, copy=True))
    return Tensor(source, requires_grad=requires_grad)
