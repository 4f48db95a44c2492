"""x + y, 2 * x, x < y, x @ y for tensors: each applies an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fluidcore.base.python_operators import PythonOperators

if TYPE_CHECKING:
    from fluidcore.eager.tensor import Tensor

OPERANDS = (bool, int, float, np.ndarray, np.generic)


class Arithmetic(PythonOperators["Tensor"]):
    """The operators of Python on tensors.

    The other side may be a number, which takes the dtype of the tensor, or an array, a constant.
    Shapes broadcast as in NumPy. There is no operator in place: `x += y` is `x = x + y`.
    `x.equal(y)` compares elements.
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

    def __rmatmul__(self, other: Any) -> Tensor:
        return self._binary(other, "matmul", swap=True)

    def __neg__(self) -> Tensor:
        from fluidcore.eager.apply import apply_single

        return apply_single("scale", {"X": self}, {"scale": -1.0})

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
        """The quotient x / other, broadcast."""
        return self._with(other, "elementwise_div")

    def pow(self, other: Any) -> Tensor:
        """The power x ** other, broadcast."""
        return self._with(other, "elementwise_pow")
