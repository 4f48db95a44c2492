"""Tensors from nothing: constants and random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_extents
from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_name, numpy_dtype
from fluidcore.eager.notes import noted
from fluidcore.eager.state import draw_seed

if TYPE_CHECKING:
    from fluidcore.eager.tensor import Tensor


def _shape(who: str, shape: Any) -> list[int]:
    extents = check_extents(who, shape)
    if -1 in extents:
        raise core.InvalidArgument(f"{who}: extents must be known, got {extents}")
    return extents


class Creation:
    """Ways to make a tensor, as `Tensor.randn([10, 5])` and as `eager.randn([10, 5])`."""

    __slots__ = ()

    @staticmethod
    def full(
        shape: Sequence[int], value: Any, dtype: DTypeLike = "float32", requires_grad: bool = False
    ) -> Tensor:
        """One number everywhere, of this shape and dtype."""
        from fluidcore.eager.tensor import Tensor

        name = dtype_name(dtype)
        array = np.full(_shape("full", shape), value, numpy_dtype(name))
        return Tensor(array, requires_grad=requires_grad)

    @staticmethod
    def zeros(
        shape: Sequence[int], dtype: DTypeLike = "float32", requires_grad: bool = False
    ) -> Tensor:
        """Zeros, of this shape and dtype."""
        return Creation.full(shape, 0, dtype, requires_grad)

    @staticmethod
    def ones(
        shape: Sequence[int], dtype: DTypeLike = "float32", requires_grad: bool = False
    ) -> Tensor:
        """Ones, of this shape and dtype."""
        return Creation.full(shape, 1, dtype, requires_grad)

    @staticmethod
    def randn(
        shape: Sequence[int], dtype: DTypeLike = "float32", requires_grad: bool = False
    ) -> Tensor:
        """Random numbers of the normal distribution with mean 0 and variance 1, of this shape."""
        return _random("randn", "standard_normal", shape, dtype, requires_grad)

    @staticmethod
    def rand(
        shape: Sequence[int], dtype: DTypeLike = "float32", requires_grad: bool = False
    ) -> Tensor:
        """Random numbers between 0 and 1, of this shape."""
        return _random("rand", "random", shape, dtype, requires_grad)

    @staticmethod
    def from_vec(
        data: Sequence[Any],
        shape: Sequence[int],
        dtype: DTypeLike | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A flat list of numbers in this shape."""
        from fluidcore.eager.tensor import Tensor

        extents = _shape("from_vec", shape)
        flat = Tensor(data, dtype)
        if flat.ndim != 1 or flat.size != int(np.prod(extents)):
            raise core.InvalidArgument(
                f"from_vec: a flat list of {int(np.prod(extents))} numbers fills {extents}, "
                f"got {list(flat.shape)}"
            )
        return Tensor(flat.array.reshape(extents), requires_grad=requires_grad)

    @staticmethod
    def from_numpy(array: Any, requires_grad: bool = False) -> Tensor:
        """A copy of an array, of its shape and dtype."""
        from fluidcore.eager.tensor import Tensor

        if not isinstance(array, np.ndarray):
            raise TypeError(f"from_numpy: must be an array, got {type(array).__name__}")
        return Tensor(array, requires_grad=requires_grad)


def _random(
    who: str, draw: str, shape: Sequence[int], dtype: DTypeLike, requires_grad: bool
) -> Tensor:
    from fluidcore.eager.tensor import Tensor

    name = dtype_name(dtype)
    if name not in FLOATING:
        raise core.InvalidArgument(f"{who}: the dtype must be floating, got {name}")
    if noted.get() is not None:
        raise core.InvalidArgument(
            f"trace: {who} would give a program the same numbers in every run; write an operator, "
            "eager.gaussian_random_batch_size_like(x, shape) or uniform_random_batch_size_like"
        )
    generator = np.random.Generator(np.random.Philox(draw_seed()))
    numbers = getattr(generator, draw)(_shape(who, shape))
    return Tensor(numbers, name, requires_grad=requires_grad)
