"""x.sum(0), x.reshape(2, -1), x.T: methods of Variables and of eager tensors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from fluidcore.base.checks import check_number, is_whole
from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_number

Result = TypeVar("Result")


Axes: TypeAlias = "int | Sequence[int] | None"


class TensorMethods(Generic[Result]):
    """Reductions, shapes, order, element types, matrix products.

    For a class with `shape`, `dtype`, `_single` and indices. NumPy's names `axis` and `keepdims`
    may be written as Fluid's, `dim` and `keep_dim`. Booleans are counted as whole numbers, int64;
    a mean of whole numbers is float32, as their quotient is.
    """

    __slots__ = ()

    @abstractmethod
    def _single(
        self, op_type: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any], out: str = "Out"
    ) -> Result:
        """The result of an operator in slot `out`."""

    def _apply(self, op_type: str, **attrs: Any) -> Result:
        return self._single(op_type, {"X": self}, attrs)

    def _reduce(
        self: Any, op_type: str, axis: Axes, keepdims: bool, dim: Axes, keep_dim: bool
    ) -> Result:
        if axis is not None and dim is not None:
            raise TypeError(f"{op_type}: axis and dim mean the same, got both")
        keep = bool(keepdims or keep_dim)
        dims = dim if axis is None else axis
        if dims is None and keep:
            dims = list(range(len(self.shape)))
        chosen = {"reduce_all": True} if dims is None else {"dim": dims}
        result: Result = self._apply(op_type, keep_dim=keep, **chosen)
        return result

    def _counted(self: Any) -> Any:
        """The same numbers, of an element type that counts."""
        return self.astype("int64") if self.dtype == "bool" else self

    def _true(self: Any) -> Any:
        """Whether each element is not 0."""
        return self if self.dtype == "bool" else self.astype("bool")

    def sum(
        self, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None, keep_dim: bool = False
    ) -> Result:
        """The sum along one dimension or several, [..., ...]; of all elements, [1], for None."""
        total: Result = self._counted()._reduce("reduce_sum", axis, keepdims, dim, keep_dim)
        return total

    def mean(
        self: Any,
        axis: Axes = None,
        keepdims: bool = False,
        *,
        dim: Axes = None,
        keep_dim: bool = False,
    ) -> Result:
        """The mean along one dimension or several, as `sum`."""
        x = self if self.dtype in FLOATING else self.astype("float32")
        mean: Result = x._reduce("reduce_mean", axis, keepdims, dim, keep_dim)
        return mean

    def var(self: Any, axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> Result:
        """The mean of the squared deviations from the mean, as `sum`.

        Args:
            axis: The dimensions; None: all.
            ddof: What is taken from the number of elements before the sum is divided by it.
            keepdims: Whether the dimensions stay, with extent 1.
        """
        x = self if self.dtype in FLOATING else self.astype("float32")
        squares = (x - x.mean(axis, keepdims=True))._apply("square")
        variance = squares.mean(axis, keepdims=keepdims)
        if ddof:
            dims: Any = range(self.ndim) if axis is None else [axis] if is_whole(axis) else axis
            extents = [self.shape[dim] for dim in dims]
            if min(extents, default=1) < 0:
                raise ValueError(f"var: with ddof, extents must be known, got {self.shape}")
            count = math.prod(extents)
            variance = variance * (count / (count - ddof) if count > ddof else math.nan)
        result: Result = variance
        return result

    def std(self: Any, axis: Axes = None, ddof: float = 0, keepdims: bool = False) -> Result:
        """The square root of `var`."""
        deviation: Result = self.var(axis, ddof, keepdims)._apply("sqrt")
        return deviation

    def max(
        self: Any,
        axis: Axes = None,
        keepdims: bool = False,
        *,
        dim: Axes = None,
        keep_dim: bool = False,
    ) -> Result:
        """The largest element along one dimension or several, as `sum`."""
        op_type = "reduce_any" if self.dtype == "bool" else "reduce_max"
        largest: Result = self._reduce(op_type, axis, keepdims, dim, keep_dim)
        return largest

    def min(
        self: Any,
        axis: Axes = None,
        keepdims: bool = False,
        *,
        dim: Axes = None,
        keep_dim: bool = False,
    ) -> Result:
        """The smallest element along one dimension or several, as `sum`."""
        op_type = "reduce_all" if self.dtype == "bool" else "reduce_min"
        smallest: Result = self._reduce(op_type, axis, keepdims, dim, keep_dim)
        return smallest

    def prod(
        self, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None, keep_dim: bool = False
    ) -> Result:
        """The product along one dimension or several, as `sum`."""
        product: Result = self._counted()._reduce("reduce_prod", axis, keepdims, dim, keep_dim)
        return product

    def any(
        self, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None, keep_dim: bool = False
    ) -> Result:
        """Whether an element is true, or not 0, along one dimension or several, as `sum`."""
        found: Result = self._true()._reduce("reduce_any", axis, keepdims, dim, keep_dim)
        return found

    def all(
        self, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None, keep_dim: bool = False
    ) -> Result:
        """Whether all elements are true, or not 0, along one dimension or several, as `sum`."""
        found: Result = self._true()._reduce("reduce_all", axis, keepdims, dim, keep_dim)
        return found

    @property
    def ndim(self: Any) -> int:
        """The number of dimensions."""
        return len(self.shape)

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

    def swapaxes(self: Any, axis1: int, axis2: int) -> Result:
        """With two dimensions in each other's place."""
        order = list(range(len(self.shape)))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        result: Result = self._apply("transpose", axis=order)
        return result

    def squeeze(self, *axes: Any) -> Result:
        """Without the dimensions `axes`, or all those of extent 1."""
        return self._apply("squeeze", axes=_one_list(axes))

    def unsqueeze(self, *axes: Any) -> Result:
        """With dimensions of extent 1 that are dimensions `axes` of the result."""
        return self._apply("unsqueeze", axes=_one_list(axes))

    def ravel(self) -> Result:
        """All elements, row by row: [size]."""
        return self.reshape(-1)

    def cumsum(self, axis: int | None = None) -> Result:
        """The sums of the elements so far, along a dimension; of all elements for None."""
        sums: Result = self._counted()._along("cumsum", axis)
        return sums

    def cumprod(self, axis: int | None = None) -> Result:
        """The products of the elements so far, as `cumsum`."""
        products: Result = self._counted()._along("cumprod", axis)
        return products

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Result:
        """Where the largest element along a dimension is, int64; among all elements for None."""
        return self._along("argmax", axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Result:
        """Where the smallest element along a dimension is, as `argmax`."""
        return self._along("argmin", axis, keepdims=keepdims)

    def sort(self, axis: int | None = -1, descending: bool = False) -> Result:
        """The elements in order along a dimension; all of them, [size], for None."""
        return self._along("argsort", axis, descending=descending)

    def argsort(self, axis: int | None = -1, descending: bool = False) -> Result:
        """Where the elements of `sort` come from, int64."""
        return self._along("argsort", axis, out="Indices", descending=descending)

    def _along(self: Any, op_type: str, axis: int | None, out: str = "Out", **attrs: Any) -> Result:
        x = self.ravel() if axis is None else self
        attrs["axis"] = 0 if axis is None else axis
        result: Result = x._single(op_type, {"X": x}, attrs, out)
        return result

    def take(self: Any, indices: Any, axis: int | None = None) -> Result:
        """The elements x[..., indices, ...] of a dimension; of all of them, row by row, for None.

        Args:
            indices: A number, an array, or a tensor of whole numbers.
            axis: The dimension; counted from the end if negative.
        """
        if axis is None:
            result: Result = self.ravel()[indices]
        elif axis >= 0:
            result = self[(*[slice(None)] * axis, indices)]
        else:
            result = self[(..., indices, *[slice(None)] * (-1 - axis))]
        return result

    def clip(self, min: float | None = None, max: float | None = None) -> Result:
        """The number of [min, max] nearest to each element; None leaves a side open."""
        if min is None and max is None:
            raise TypeError("clip: min or max must be given, got neither")
        low = -math.inf if min is None else check_number("clip: min", min, finite=False)
        high = math.inf if max is None else check_number("clip: max", max, finite=False)
        return self._apply("clip", min=low, max=high)

    def round(self: Any, decimals: int = 0) -> Result:
        """The nearest numbers of so many decimals, of two the even one."""
        if not is_whole(decimals):
            raise TypeError(f"round: decimals must be a whole number, got {decimals!r}")
        if not decimals:
            result: Result = self._apply("round")
        else:
            scaled = (self * 10.0**decimals).round()
            result = scaled / 10.0**decimals if decimals > 0 else scaled * 10.0**-decimals
        return result

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

    def dot(self, other: Any) -> Result:
        """The matrix product, as `matmul`; of two vectors the sum of their products."""
        return self.matmul(other)


def _one_list(numbers: Any) -> list[Any]:
    """Numbers given one by one, or as one list."""
    if len(numbers) == 1 and isinstance(numbers[0], (list, tuple)):
        return list(numbers[0])
    return list(numbers)
