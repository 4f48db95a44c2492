"""The operators of Python, from one method that applies an operator of fluidcore."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

Result = TypeVar("Result")


class PythonOperators(Generic[Result]):
    """x + y, 2 * x, x < y and so on, for a class with `_binary` and `_quotient`.

    `x / y` is the true quotient, floating also of whole numbers; `x // y` is that rounded down,
    and `x % y` what it leaves, of the sign of y; of whole numbers both are 0 where y is 0.
    `==` and `!=` compare elements, `&`, `|`, `^` and `~` combine booleans. Objects are keys by
    identity.
    """

    __slots__ = ()
    __hash__ = object.__hash__
    __array_ufunc__: ClassVar[Any] = None  # NumPy leaves its operators to us

    @abstractmethod
    def _binary(self, other: Any, op_type: str, swap: bool = False) -> Result:
        """op_type(self, other), or (other, self); NotImplemented for what cannot be combined."""

    @abstractmethod
    def _quotient(self, other: Any, swap: bool = False) -> Result:
        """The quotient self / other, or other / self; NotImplemented as of `_binary`."""

    def __pos__(self: Any) -> Result:
        result: Result = self
        return result

    def __add__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_add")

    def __radd__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_add")

    def __sub__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_sub")

    def __rsub__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_sub", swap=True)

    def __mul__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_mul")

    def __rmul__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_mul")

    def __truediv__(self, other: Any) -> Result:
        return self._quotient(other)

    def __rtruediv__(self, other: Any) -> Result:
        return self._quotient(other, swap=True)

    def __floordiv__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_floordiv")

    def __rfloordiv__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_floordiv", swap=True)

    def __mod__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_mod")

    def __rmod__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_mod", swap=True)

    def __divmod__(self, other: Any) -> tuple[Result, Result]:
        return self // other, self % other

    def __pow__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_pow")

    def __rpow__(self, other: Any) -> Result:
        return self._binary(other, "elementwise_pow", swap=True)

    def __matmul__(self, other: Any) -> Result:
        return self._binary(other, "matmul")

    def __rmatmul__(self, other: Any) -> Result:
        return self._binary(other, "matmul", swap=True)

    def __lt__(self, other: Any) -> Result:
        return self._binary(other, "less_than")

    def __gt__(self, other: Any) -> Result:
        return self._binary(other, "less_than", swap=True)

    def __le__(self, other: Any) -> Result:
        return self._binary(other, "less_equal")

    def __ge__(self, other: Any) -> Result:
        return self._binary(other, "less_equal", swap=True)

    def __eq__(self, other: Any) -> Result:  # type: ignore[override]
        return self._binary(other, "equal")

    def __ne__(self, other: Any) -> Result:  # type: ignore[override]
        return self._binary(other, "not_equal")

    def __and__(self, other: Any) -> Result:
        return self._binary(other, "logical_and")

    def __rand__(self, other: Any) -> Result:
        return self._binary(other, "logical_and")

    def __or__(self, other: Any) -> Result:
        return self._binary(other, "logical_or")

    def __ror__(self, other: Any) -> Result:
        return self._binary(other, "logical_or")

    def __xor__(self, other: Any) -> Result:
        return self._binary(other, "logical_xor")

    def __rxor__(self, other: Any) -> Result:
        return self._binary(other, "logical_xor")
