"""Tensor: a value that remembers the operators it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_name, numpy_dtype
from fluidcore.base.indexing import Indexing, Step
from fluidcore.base.tensor_methods import TensorMethods
from fluidcore.eager.arithmetic import Arithmetic
from fluidcore.eager.create import Creation
from fluidcore.eager.exchange import Exchange
from fluidcore.eager.notes import check_known, is_known
from fluidcore.eager.operation import Array, element_type

if TYPE_CHECKING:
    from fluidcore.eager.record import Record
    from fluidcore.gradcheck.config import GradCheckConfig
    from fluidcore.gradcheck.report.result import GradCheckResult
    from fluidcore.gradcheck.target.target import Target


class Tensor(Arithmetic, TensorMethods["Tensor"], Creation, Exchange, Indexing["Tensor"]):
    """An array whose operators run at once, and are remembered for `backward`.

    Beside the methods here, a tensor has every operator with one result as a method:
    `x.relu()`, `x.softmax()`, `x.clip(min=0.0, max=1.0)`.

    Args:
        data: Array, number or nested list, of any shape; copied. Python floats become float32,
            Python ints int64; arrays keep their element type.
        dtype: Element type; None for that of the data.
        requires_grad: Whether `backward` calculates the gradient by this tensor; floating only.
    """

    __slots__ = ("__weakref__", "_grad", "_requires_grad", "array", "position", "record")

    array: Array  # read-only
    record: Record | None  # the operator that calculated it, if a gradient may be asked for
    position: int  # among the outputs of the record

    def __init__(
        self, data: Any, dtype: DTypeLike | None = None, requires_grad: bool = False
    ) -> None:
        self.array = _array(data, dtype)
        self.record = None
        self.position = 0
        self._grad: Tensor | None = None
        self._requires_grad = False
        self.requires_grad = requires_grad

    @classmethod
    def of(cls, array: Array, record: Record | None = None, position: int = 0) -> Tensor:
        """A tensor around an array that nobody changes from now on."""
        tensor = cls.__new__(cls)
        tensor.array = array
        tensor.record = record
        tensor.position = position
        tensor._grad = None
        tensor._requires_grad = record is not None and element_type(array) in FLOATING
        return tensor

    def __reduce__(self) -> tuple[Any, ...]:
        if self.record is not None:
            raise TypeError(
                f"a Tensor with a history, the result of {self.record.operation.op_type}, cannot "
                "be pickled or copied; pickle x.detach()"
            )
        array = check_known("a copy", self.array)
        return _leaf, (array, self._requires_grad, self._grad)

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.array.shape

    def dims(self) -> list[int]:
        """The extents as a list."""
        return list(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.array.size

    @property
    def dtype(self) -> str:
        """Name of the element type: "float32"."""
        return element_type(self.array)

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user, not by a remembered operator."""
        return self.record is None

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def _single(
        self,
        op_type: str,
        inputs: Mapping[str, Any],
        attrs: Mapping[str, Any],
        out: str | None = None,
    ) -> Tensor:
        from fluidcore.eager.apply import apply_single

        return apply_single(op_type, inputs, attrs, out)

    def _applied(self, steps: Sequence[Step]) -> Tensor:
        result = self
        for op_type, attrs in steps:
            result = result._apply(op_type, **attrs)
        return result

    def _constant(self, array: Array) -> Tensor:
        return Tensor(array)

    def _known(self) -> Array | None:
        return self.numpy() if is_known(self.array) else None

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "a tensor cannot be changed in place; make a new one, or give a leaf another value "
            "with x.set_value(array)"
        )

    def set_value(self, data: Any) -> None:
        """Gives a leaf another value, for example after a step of an optimizer.

        What was calculated before keeps the old value, also for its gradients.

        Args:
            data: Of the tensor's shape; converted to its dtype.
        """
        if self.record is not None:
            raise core.InvalidArgument(
                "set_value: the tensor must be a leaf, got the result of "
                f"{self.record.operation.op_type}; write x = x.detach() first"
            )
        array = _array(data, self.dtype)
        if array.shape != self.shape:
            raise core.InvalidArgument(
                f"set_value: the shape must stay {list(self.shape)}, got {list(array.shape)}"
            )
        self.array = array

    # Gradients

    @property
    def requires_grad(self) -> bool:
        """Whether `backward` calculates, or passes on, the gradient by this tensor."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and self.dtype not in FLOATING:
            raise core.InvalidArgument(
                f"requires_grad: the tensor must be floating, got {self.dtype}; "
                "write x.astype('float32')"
            )
        if self.record is not None and not value:
            raise core.InvalidArgument(
                "requires_grad: only a leaf can be made a constant, got the result of "
                f"{self.record.operation.op_type}; write x.detach()"
            )
        self._requires_grad = bool(value)

    def set_requires_grad(self, value: bool = True) -> Tensor:
        """Sets `requires_grad`; returns the tensor itself."""
        self.requires_grad = value
        return self

    @property
    def grad(self) -> Tensor | None:
        """The sum of the gradients of all calls of `backward` so far, of shape and dtype of x.

        Only leaves have one; None before the first call.
        """
        return self._grad

    def zero_grad(self) -> None:
        """Forgets the gradient."""
        self._grad = None

    def detach(self) -> Tensor:
        """The same value as a constant."""
        return Tensor.of(self.array)

    def backward(self, gradient: Any = None) -> None:
        """Adds the gradient of this tensor to `grad` of every leaf that requires one.

        What was recorded stays, so that `backward` may be called again: gradients then add up.

        Args:
            gradient: The cotangent, of the tensor's shape and dtype. None for ones: of a tensor
                with several elements that is the gradient of their sum.
        """
        from fluidcore.eager.autograd import gradients_of

        for leaf, array in gradients_of(self, None, gradient):
            if array is not None:
                total = array if leaf._grad is None else leaf._grad.array + array
                total.flags.writeable = False
                leaf._grad = Tensor.of(total)

    def check_gradient(self, f: Callable[[Tensor], Any], name: str) -> GradCheckResult:
        """Checks `grad` against the numerical gradient of f at this tensor, by error bars.

        The gradient is that of the sum of all elements of f(x), as `backward()` calculates it.

        Args:
            f: Calculates, from a tensor of any floating dtype, what `backward` was called on.
            name: Of the check, in the report.
        """
        return self.check_gradient_with_config(f, name, None)

    def check_gradient_with_config(
        self, f: Callable[[Tensor], Any], name: str, config: GradCheckConfig | None
    ) -> GradCheckResult:
        """As check_gradient, with settings: a step or a tolerance asks for the plain comparison."""
        from fluidcore.gradcheck.checker import GradientChecker

        return GradientChecker(config).check_tensor(f, self, name)

    @staticmethod
    def __gradcheck_target__(f: Callable[..., Any], args: Sequence[Any], who: str) -> Target:
        """What the gradient checker checks of a function of tensors."""
        from fluidcore.eager.target import eager_target

        return eager_target(f, args, who)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        from fluidcore.eager.functions import method

        return method(self, name)

    def __dir__(self) -> Sequence[str]:
        from fluidcore.eager.functions import names

        return sorted({*super().__dir__(), *names()})

    def __repr__(self) -> str:
        text = np.array2string(self.array, separator=", ", prefix="Tensor(", threshold=100)
        extra = ", requires_grad=True" if self._requires_grad and self.record is None else ""
        if self.record is not None:
            extra = f", op={self.record.operation.op_type}"
        return f"Tensor({text}, {self.dtype} {list(self.shape)}{extra})"


def _leaf(array: Array, requires_grad: bool, grad: Tensor | None) -> Tensor:
    leaf = Tensor(array, requires_grad=requires_grad)
    leaf._grad = grad
    return leaf


def _array(data: Any, dtype: DTypeLike | None) -> Array:
    """The data as a read-only array of its own."""
    if isinstance(data, Tensor):
        data = check_known("Tensor(x), set_value(x)", data.array)
    known = isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__")
    array = np.asarray(data)
    if dtype is None:
        name = "float32" if array.dtype == np.float64 and not known else array.dtype.name
    else:
        name = dtype_name(dtype)
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise core.InvalidArgument(
            f"Tensor: the data must be numbers, got {type(data).__name__} of {array.dtype}"
        )
    own: Array = np.array(array, dtype=numpy_dtype(dtype_name(name)), order="C")
    own.flags.writeable = False
    return own
