"""What a name of an ONNX graph stands for while the graph is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.program import Variable

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Constant:
    """A value that is known while the model is read.

    Attributes:
        array: Its elements.
        name: Of the ONNX value.
        is_parameter: Whether it is a floating initializer, which can be trained.
    """

    array: Array
    name: str = ""
    is_parameter: bool = False


@dataclass(frozen=True)
class Open:
    """An extent that is known only at run time; two of one symbol are the same.

    Attributes:
        symbol: "batch".
        source: A variable that has it.
        axis: Which of its extents it is.
    """

    symbol: str
    source: Variable = field(compare=False)
    axis: int = field(compare=False)

    def __str__(self) -> str:
        return self.symbol

    __repr__ = __str__


Number: TypeAlias = "int | Open | None"


@dataclass(frozen=True, eq=False)
class Extents:
    """Whole numbers of which some are extents that are known only at run time.

    Attributes:
        numbers: The numbers, None for one of which nothing is known.
        is_scalar: Whether it is a single number of rank 0; else it has rank 1.
        dtype: The name of the element type.
    """

    numbers: tuple[Number, ...]
    is_scalar: bool = False
    dtype: str = "int64"


@dataclass(frozen=True, eq=False)
class Items:
    """A sequence of tensors.

    Attributes:
        values: They.
    """

    values: tuple[Value, ...]


Value: TypeAlias = "Variable | Constant | Extents | Items"


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape, -1 for extents known only at run time."""
    if isinstance(value, Variable):
        return value.shape
    if isinstance(value, Items):
        raise core.InvalidArgument("an input must be a tensor, got a sequence of tensors")
    if isinstance(value, Extents):
        return () if value.is_scalar else (len(value.numbers),)
    return value.array.shape


def dtype_of(value: Value) -> str:
    """The name of the element type."""
    if isinstance(value, Variable):
        return value.dtype
    if isinstance(value, Extents):
        return value.dtype
    if isinstance(value, Items):
        return "a sequence of tensors"
    return str(np.dtype(value.array.dtype).name)


def as_sequence(results: Any) -> Sequence[Value | None]:
    """What a rule returns, as a list of values."""
    return results if isinstance(results, (list, tuple)) else [results]
