"""x.sum(0), x.reshape(2, -1), x.T: methods of Variables and of eager tensors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from fluidcore.base.dtypes import DTypeLike, dtype_number

Result = TypeVar("Result")


class TensorMethods(Generic[Result]):
    """Reductions, shapes, element types, matrix products.

    For a class with `shape`, `dtype` and `_single`.
    """

    __slots__ = ()

    @abstractmethod
    def _single(self, op_type: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any]) -> Result:
        """The one result of an operator."""

    def _apply(self, op_type: str, **attrs: Any) -> Result:
        return self._single(op_type, {"X": self}, attrs)

    def _reduce(self, op_type: str, dim: int | Sequence[int] | None, keep_dim: bool) -> Result:
        if dim is None:
            return self._apply(op_type, reduce_all=True, keep_dim=keep_dim)
        return self._apply(op_type, dim=dim, keep_dim=keep_dim)

    def sum(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Result:
        """The sum along one dimension or several, [..., ...]; of all elements, [1], for None."""
        return self._reduce("reduce_sum", dim, keep_dim)

    def mean(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Result:
        """The mean along one dimension or several, [..., ...]; of all elements, [1], for None."""
        return self._reduce("reduce_mean", dim, keep_dim)

    def max(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Result:
        """The largest element along one dimension or several, [..., ...]; of all, [1], for None."""
        return self._reduce("reduce_max", dim, keep_dim)

    def min(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Result:
        """The smallest element along one dimension or several, as `max`."""
        return self._reduce("reduce_min", dim, keep_dim)

    def prod(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Result:
        """The product along one dimension or several, as `sum`."""
        return self._reduce("reduce_prod", dim, keep_dim)

    def any(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Result:
        """Whether an element is true along one dimension or several, as `sum`."""
        return self._reduce("reduce_any", dim, keep_dim)

    def all(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Result:
        """Whether all elements are true along one dimension or several, as `sum`."""
        return self._reduce("reduce_all", dim, keep_dim)

    def reshape(self, *shape: Any) -> Result:
        """The same elements in another shape; one extent may be -1: x.reshape(2, -1)."""
        return self._apply("reshape", shape=_one_list(shape))

    def transpose(self: Any, *axes: Any) -> Result:
        """Dimension i of the result is dimension axes[i]; without axes, in reverse order."""
        order = _one_list(axes) or list(range(len(self.shape)))[::-1]
        result: Result = self._apply("transpose", axis=order)
        return result

    @property
    def T(self) -> Result:  # noqa: N802 - NumPy's name
        """The dimensions in reverse order: [n, m] of [m, n]."""
        return self.transpose()

    def squeeze(self, *axes: Any) -> Result:
        """Without the dimensions `axes`, or all those of extent 1."""
        return self._apply("squeeze", axes=_one_list(axes))

    def unsqueeze(self, *axes: Any) -> Result:
        """With dimensions of extent 1 that are dimensions `axes` of the result."""
        return self._apply("unsqueeze", axes=_one_list(axes))

    def cumsum(self, axis: int = -1) -> Result:
        """The sums of the elements so far, along a dimension."""
        return self._apply("cumsum", axis=axis)

    def argmax(self, axis: int = -1) -> Result:
        """Where the largest element along a dimension is, int64."""
        return self._apply("argmax", axis=axis)

    def argmin(self, axis: int = -1) -> Result:
        """Where the smallest element along a dimension is, int64."""
        return self._apply("argmin", axis=axis)

    def clip(self, min: float, max: float) -> Result:
        """The number of [min, max] nearest to each element."""
        return self._apply("clip", min=float(min), max=float(max))

    def round(self) -> Result:
        """The nearest whole numbers, of two the even one."""
        return self._apply("round")

    def astype(self: Any, dtype: DTypeLike) -> Result:
        """Converted to another element type; gradients pass between floating ones."""
        result: Result = self._apply(
            "cast", in_dtype=dtype_number(self.dtype), out_dtype=dtype_number(dtype)
        )
        return result

    def matmul(
        self: Any, other: Any, transpose_x: bool = False, transpose_y: bool = False
    ) -> Result:
        """The matrix product, [..., m, n] of [..., m, k] and [..., k, n]."""
        attrs = {"transpose_X": transpose_x, "transpose_Y": transpose_y}
        product: Result = self._single("matmul", {"X": self, "Y": other}, attrs)
        return product


def _one_list(numbers: Any) -> list[Any]:
    """Numbers given one by one, or as one list."""
    if len(numbers) == 1 and isinstance(numbers[0], (list, tuple)):
        return list(numbers[0])
    return list(numbers)
