"""x + y, 2 * x, x < y, x @ y for tensors: each applies an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fluidcore.base.dtypes import dtype_name, numpy_dtype, quotient_dtype
from fluidcore.base.python_operators import PythonOperators

if TYPE_CHECKING:
    from fluidcore.eager.tensor import Tensor

OPERANDS = (bool, int, float, np.ndarray, np.generic)


def _dtype(x: Any) -> str | None:
    """Of a tensor or array; None for a number."""
    return None if isinstance(x, (bool, int, float, np.generic)) else dtype_name(x.dtype)


def _floating(x: Any, other: Any) -> Any:
    """A tensor or array as `x / other` takes it; a number as it is."""
    own = _dtype(x)
    if own is None:
        return x
    dtype = quotient_dtype(own, _dtype(other))
    if own == dtype:
        return x
    return x.astype(numpy_dtype(dtype) if isinstance(x, np.ndarray) else dtype)


class Arithmetic(PythonOperators["Tensor"]):
    """The operators of Python on tensors.

    The other side may be a number, which takes the dtype of the tensor, or an array, a constant.
    Shapes broadcast as in NumPy. Of whole numbers `x / y` is a true quotient, in the dtype of the
    other side if that is floating, else in float32; `x // y` is rounded down, and `x % y`
    has the sign of y. There is no operator in place: `x += y` is `x = x + y`.
    """

    __slots__ = ()

    def _binary(self, other: Any, op_type: str, swap: bool = False) -> Tensor:
        if not isinstance(other, (Arithmetic, *OPERANDS)):
            return NotImplemented  # type: ignore[no-any-return]
        return self._with(other, op_type, swap)

    def _with(self, other: Any, op_type: str, swap: bool = False) -> Tensor:
        from fluidcore.eager.apply import apply_single

        x, y = (other, self) if swap else (self, other)
        return apply_single(op_type, {"X": x, "Y": y}, {})

    def _quotient(self, other: Any, swap: bool = False) -> Tensor:
        if not isinstance(other, (Arithmetic, *OPERANDS)):
            return NotImplemented  # type: ignore[no-any-return]
        x: Tensor = _floating(self, other)
        return x._with(_floating(other, self), "elementwise_div", swap)

    def __neg__(self) -> Tensor:
        from fluidcore.eager.apply import apply_single

        return apply_single("scale", {"X": self}, {"scale": -1.0})

    def __abs__(self) -> Tensor:
        from fluidcore.eager.apply import apply_single

        return apply_single("abs", {"X": self}, {})

    def __invert__(self) -> Tensor:
        from fluidcore.eager.apply import apply_single

        return apply_single("logical_not", {"X": self}, {})

    def add(self, other: Any) -> Tensor:
        """The sum x + other, broadcast."""
        return self._with(other, "elementwise_add")

    def sub(self, other: Any) -> Tensor:
        """The difference x - other, broadcast."""
        return self._with(other, "elementwise_sub")

    def mul(self, other: Any) -> Tensor:
        """The product x * other element by element, broadcast; `matmul` is that of matrices."""
        return self._with(other, "elementwise_mul")

    def div(self, other: Any) -> Tensor:
        """The quotient x / other, broadcast; floating also of whole numbers."""
        quotient: Tensor = self / other
        return quotient

    def pow(self, other: Any) -> Tensor:
        """The power x ** other, broadcast."""
        return self._with(other, "elementwise_pow")
