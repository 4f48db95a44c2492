"""Operators that are written out for tensors, because their arguments are not those of the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fluidcore.base.dtypes import DTypeLike, dtype_number

if TYPE_CHECKING:
    from fluidcore.eager.tensor import Tensor


class Shaping:
    """Reductions, shapes, element types, matrix products."""

    __slots__ = ()

    def _apply(self: Any, op_type: str, **attrs: Any) -> Tensor:
        from fluidcore.eager.apply import apply_single

        return apply_single(op_type, {"X": self}, attrs)

    def _reduce(self, op_type: str, dim: int | Sequence[int] | None, keep_dim: bool) -> Tensor:
        if dim is None:
            return self._apply(op_type, reduce_all=True, keep_dim=keep_dim)
        return self._apply(op_type, dim=dim, keep_dim=keep_dim)

    def sum(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Tensor:
        """The sum along one dimension or several, [..., ...]; of all elements, [1], for None."""
        return self._reduce("reduce_sum", dim, keep_dim)

    def mean(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Tensor:
        """The mean along one dimension or several, [..., ...]; of all elements, [1], for None."""
        return self._reduce("reduce_mean", dim, keep_dim)

    def max(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Tensor:
        """The largest element along one dimension or several, [..., ...]; of all, [1], for None."""
        return self._reduce("reduce_max", dim, keep_dim)

    def min(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Tensor:
        """The smallest element along one dimension or several, as `max`."""
        return self._reduce("reduce_min", dim, keep_dim)

    def prod(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Tensor:
        """The product along one dimension or several, as `sum`."""
        return self._reduce("reduce_prod", dim, keep_dim)

    def any(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Tensor:
        """Whether an element is true along one dimension or several, as `sum`."""
        return self._reduce("reduce_any", dim, keep_dim)

    def all(self, dim: int | Sequence[int] | None = None, keep_dim: bool = False) -> Tensor:
        """Whether all elements are true along one dimension or several, as `sum`."""
        return self._reduce("reduce_all", dim, keep_dim)

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape; one extent may be -1: x.reshape(2, -1)."""
        return self._apply("reshape", shape=_one_list(shape))

    def transpose(self: Any, *axes: Any) -> Tensor:
        """Dimension i of the result is dimension axes[i]; without axes, in reverse order."""
        order = _one_list(axes) or list(range(self.ndim))[::-1]
        return Shaping._apply(self, "transpose", axis=order)

    @property
    def T(self) -> Tensor:  # noqa: N802 - NumPy's name
        """The dimensions in reverse order: [n, m] of [m, n]."""
        return self.transpose()

    def astype(self: Any, dtype: DTypeLike) -> Tensor:
        """Converted to another element type; gradients pass between floating ones."""
        return Shaping._apply(
            self, "cast", in_dtype=dtype_number(self.dtype), out_dtype=dtype_number(dtype)
        )

    def matmul(
        self: Any, other: Any, transpose_x: bool = False, transpose_y: bool = False
    ) -> Tensor:
        """The matrix product, [..., m, n] of [..., m, k] and [..., k, n]."""
        from fluidcore.eager.apply import apply_single

        attrs = {"transpose_X": transpose_x, "transpose_Y": transpose_y}
        return apply_single("matmul", {"X": self, "Y": other}, attrs)


def _one_list(numbers: Any) -> list[Any]:
    """Numbers given one by one, or as one list."""
    if len(numbers) == 1 and isinstance(numbers[0], (list, tuple)):
        return list(numbers[0])
    return list(numbers)
