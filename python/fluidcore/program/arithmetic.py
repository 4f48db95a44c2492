"""x + y, 2 * x, x < y, x[1:], x.sum(0) for Variables: each appends operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, quotient_dtype
from fluidcore.base.indexing import Indexing, Step
from fluidcore.base.python_operators import PythonOperators
from fluidcore.base.tensor_methods import TensorMethods

if TYPE_CHECKING:
    from fluidcore.program.block import Block
    from fluidcore.program.variable import Variable

_SCALARS = (bool, int, float, np.bool_, np.integer, np.floating)


def _append(x: Variable, op_type: str, y: Variable | None = None, **attrs: Any) -> Variable:
    inputs = {"X": x} if y is None else {"X": x, "Y": y}
    return _block(x).append_single(op_type, inputs, attrs, key="tmp")


def _is_variable(x: Any) -> bool:
    return isinstance(x, Arithmetic)


def _floating(x: Any, other: Any) -> Any:
    """A Variable as `x / other` takes it; a scalar as it is."""
    if not _is_variable(x):
        return x
    dtype = quotient_dtype(x.dtype, other.dtype if _is_variable(other) else None)
    return x if x.dtype == dtype else x.astype(dtype)


def _block(x: Variable) -> Block:
    return x.block.program.current_block()


def _constant_like(x: Variable, value: Any) -> Variable:
    try:
        number = float(value)
    except OverflowError:
        raise core.InvalidArgument(
            f"a number combined with the Variable '{x.name}' must be one that a float64 holds, "
            "got an int that is too large"
        ) from None
    if x.dtype not in FLOATING and not number.is_integer():
        raise core.InvalidArgument(
            f"a number combined with the {x.dtype} Variable '{x.name}' must be whole, "
            f"got {value}; write {x.name}.astype('float32') first"
        )
    if x.dtype not in FLOATING and number != value:
        raise core.InvalidArgument(
            f"a number combined with the Variable '{x.name}' must be one that a float64 holds, "
            f"got {value}; feed it as data"
        )
    shape = [1] if x.shape else []
    attrs = {"shape": shape, "value": number, "dtype": x.dtype}
    return _block(x).append_single("fill_constant", {}, attrs, key="tmp")


class Arithmetic(PythonOperators["Variable"], TensorMethods["Variable"], Indexing["Variable"]):
    """The operators of Python on Variables.

    A scalar on either side becomes a constant of the Variable's dtype. Shapes broadcast as in
    NumPy. Of whole numbers `x / y` is a true quotient, in the dtype of the other side if that is
    floating, else in float32; `x // y` is rounded down, and `x % y` has the sign of y.
    """

    def _binary(self: Any, other: Any, op_type: str, swap: bool = False) -> Variable:
        if isinstance(other, np.ndarray) and not other.ndim:
            other = other[()]  # NumPy makes such arrays of numbers
        if isinstance(other, np.ndarray):
            raise TypeError(
                f"Variable '{self.name}' cannot be combined with an array; "
                "feed the array as a Variable made by layers.data"
            )
        if not isinstance(other, (Arithmetic, *_SCALARS)):
            return NotImplemented  # type: ignore[no-any-return]
        mark = _block(self).mark()
        try:
            if isinstance(other, _SCALARS):
                other = _constant_like(self, other)
            return _append(other, op_type, self) if swap else _append(self, op_type, other)
        except BaseException:
            mark.rollback()
            raise

    def _quotient(self: Any, other: Any, swap: bool = False) -> Variable:
        if not isinstance(other, (Arithmetic, np.ndarray, *_SCALARS)):
            return NotImplemented  # type: ignore[no-any-return]
        mark = _block(self).mark()
        try:
            x: Variable = _floating(self, other)
            return x._binary(_floating(other, self), "elementwise_div", swap)
        except BaseException:
            mark.rollback()
            raise

    def __matmul__(self, other: Any) -> Variable:
        if isinstance(other, _SCALARS):
            return NotImplemented
        return super().__matmul__(other)

    def __rmatmul__(self, other: Any) -> Variable:
        if isinstance(other, _SCALARS):
            return NotImplemented
        return super().__rmatmul__(other)

    def __getitem__(self: Any, index: Any) -> Variable:
        if self.is_array:
            raise TypeError(f"the tensor array '{self.name}' is read by layers.array_read(x, i)")
        mark = _block(self).mark()
        try:
            return Indexing.__getitem__(self, index)
        except BaseException:
            mark.rollback()
            raise

    def _applied(self: Any, steps: Sequence[Step]) -> Variable:
        result: Variable = self
        for op_type, attrs in steps:
            result = _block(self).append_single(op_type, {"X": result}, attrs, key="tmp")
        return result

    def _constant(self: Any, array: NDArray[Any]) -> Variable:
        attrs = {
            "shape": list(array.shape),
            "dtype": "int64",
            "int32_values": array.ravel().tolist(),
        }
        return _block(self).append_single("assign_value", {}, attrs, key="tmp")

    def _known(self) -> None:
        return None

    def __neg__(self: Any) -> Variable:
        return _append(self, "scale", scale=-1.0)

    def __abs__(self: Any) -> Variable:
        return _append(self, "abs")

    def __invert__(self: Any) -> Variable:
        return _append(self, "logical_not")

    def _single(
        self: Any,
        op_type: str,
        inputs: Mapping[str, Any],
        attrs: Mapping[str, Any],
        out: str = "Out",
    ) -> Variable:
        return _block(self).append_single(op_type, inputs, attrs, out=out, key="tmp")
