"""x[1:, ::2], x[0], x[..., None], x[ids]: which operators an index stands for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fluidcore.base.array_indexing import (
    INTEGERS,
    as_array_index,
    is_array_index,
    taken,
    without_masks,
    wrapped,
)
from fluidcore.base.checks import is_whole

Result = TypeVar("Result")
Step: TypeAlias = "tuple[str, dict[str, list[int]]]"  # type of an operator, attributes

_FIRST, _LAST = -(2**63), 2**63 - 1  # beyond every index, on both sides


class Indexing(Generic[Result]):
    """x[index] with whole numbers, slices, `...`, None, and arrays or tensors, as in NumPy.

    For a class with `shape`, `dtype`, `_applied`, `_single`, `_constant` and `_known`. The result
    is a new tensor, no view. The elements of an index that is a tensor are in [0, extent).
    """

    __slots__ = ()

    @abstractmethod
    def _applied(self, steps: Sequence[Step]) -> Result:
        """What the operators make of this, one after the other; itself without any."""

    @abstractmethod
    def _constant(self, array: NDArray[Any]) -> Result:
        """An array as a tensor of this kind."""

    @abstractmethod
    def _known(self) -> NDArray[Any] | None:
        """The elements, where they are known when an index is made."""

    def __getitem__(self: Any, index: Any) -> Result:
        items = list(index) if isinstance(index, tuple) else [index]
        if any(isinstance(item, Indexing) or is_array_index(item) for item in items):
            result: Result = _with_arrays(self, [_readable(item) for item in items])
        else:
            result = self._applied(index_steps(index, self.shape))
        return result


def _readable(item: Any) -> Any:
    """An array for a list or an array, and for a mask whose elements are known."""
    if is_array_index(item):
        return as_array_index(item)
    if not isinstance(item, Indexing):
        return item
    dtype = getattr(item, "dtype", None)
    if dtype == "bool":
        known = item._known()
        if known is not None and not known.ndim:
            raise TypeError("a mask must have at least one dimension, got []")
        if known is None:
            raise TypeError(
                "x[mask] would have an extent that depends on the data; "
                "write where(mask, x, other), or x * mask.astype(x.dtype)"
            )
        return known
    if dtype not in INTEGERS:
        raise TypeError(f"a tensor that is an index must be int32 or int64, got {dtype}")
    return item


def _is_array(item: Any) -> bool:
    return isinstance(item, (Indexing, np.ndarray))


def _with_arrays(x: Any, given: list[Any]) -> Any:
    """x[index] where items of the index are arrays or tensors."""
    given = without_masks(given, x.shape)
    items = _complete(tuple(given), len(x.shape))
    kinds = [item for item in items if item is not None]
    axes = [axis for axis, item in enumerate(kinds) if _is_array(item)]
    arrays = [kinds[axis] for axis in axes]
    arrays = [
        wrapped(item, axis, x.shape[axis]) if isinstance(item, np.ndarray) else item
        for axis, item in zip(axes, arrays, strict=True)
    ]
    basic = tuple(slice(None) if _is_array(item) else item for item in items)
    x = x._applied(index_steps(basic, x.shape))
    chosen = [i for i, item in enumerate(given) if _is_array(item) or is_whole(item)]
    if chosen[-1] - chosen[0] < len(chosen):
        first = next(i for i, item in enumerate(items) if _is_array(item) or is_whole(item))
        return taken(x, first, _tensors(x, arrays))
    # Something is between them: what they choose comes first, as in NumPy.
    kept = [item for item in items if not is_whole(item)]  # one for each dimension of x
    order = sorted(range(len(kept)), key=lambda dim: not _is_array(kept[dim]))
    return taken(x._single("transpose", {"X": x}, {"axis": order}), 0, _tensors(x, arrays))


def _tensors(x: Any, indices: list[Any]) -> list[Any]:
    """The indices as tensors; those that are arrays have one shape."""
    known = [item for item in indices if isinstance(item, np.ndarray)]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in known))
    except ValueError:
        listed = ", ".join(str(list(array.shape)) for array in known)
        raise IndexError(f"the arrays of an index must broadcast, got {listed}") from None
    tensors = []
    for item in indices:
        if isinstance(item, np.ndarray):
            tensors.append(x._constant(np.broadcast_to(item, shape)))
        else:
            tensors.append(item if len(indices) == 1 else item.astype("int64"))
    return tensors


def index_steps(index: Any, shape: Sequence[int]) -> list[Step]:
    """The operators that make x[index] of an x with these extents, -1 where one is not known.

    Raises:
        IndexError: There is no such element or dimension.
        TypeError: An index is of another kind.
    """
    parts: list[tuple[int, int, int, int]] = []  # axis, start, end, stride
    dropped: list[int] = []  # dimensions of x
    added: list[int] = []  # dimensions of the result
    axis = place = 0
    for item in _complete(index, len(shape)):
        if item is None:
            added.append(place)
            place += 1
            continue
        if isinstance(item, slice):
            start, end, stride = _bounds(item, axis)
            place += 1
        else:
            start, end, stride = *_element(item, axis, shape[axis]), 1
            dropped.append(axis)
        if (start, end, stride) != (0, _LAST, 1):
            parts.append((axis, start, end, stride))
        axis += 1
    steps: list[Step] = []
    if parts:
        axes, starts, ends, strides = map(list, zip(*parts, strict=True))
        cut = {"axes": axes, "starts": starts, "ends": ends}
        plain = all(stride == 1 for stride in strides)
        steps.append(("slice", cut) if plain else ("strided_slice", cut | {"strides": strides}))
    steps += [("squeeze", {"axes": dropped})] if dropped else []
    steps += [("unsqueeze", {"axes": added})] if added else []
    return steps


def _complete(index: Any, rank: int) -> list[Any]:
    """An item for each of `rank` dimensions, and the Nones between them."""
    items = list(index) if isinstance(index, tuple) else [index]
    for place, item in enumerate(items):
        if not (
            item is None
            or isinstance(item, (slice, EllipsisType))
            or is_whole(item)
            or _is_array(item)
        ):
            raise TypeError(
                f"item {place} of an index must be a whole number, a slice, ..., None or an array "
                f"of whole numbers, got {type(item).__name__}"
            )
    rest = [place for place, item in enumerate(items) if item is Ellipsis]
    given = sum(item is not None and item is not Ellipsis for item in items)
    if len(rest) > 1:
        raise IndexError(f"an index must have at most one ..., got {len(rest)}")
    if given > rank:
        raise IndexError(
            f"an index must have an item for at most {rank} dimensions, as x has, got {given}"
        )
    end = rest[0] if rest else len(items)
    return [*items[:end], *[slice(None)] * (rank - given), *items[end + 1 :]]


def _element(index: Any, axis: int, extent: int) -> tuple[int, int]:
    """Where the one element of a dimension starts and ends."""
    i = int(index)
    if extent != -1 and not -extent <= i < extent:
        raise IndexError(f"an index of axis {axis} must be in [{-extent}, {extent}), got {i}")
    if not _FIRST <= i < _LAST:
        raise IndexError(f"an index of axis {axis} must be in 64 bits, got {i}")
    return i, _LAST if i == -1 else i + 1


def _bounds(part: slice, axis: int) -> tuple[int, int, int]:
    """Start, end and stride, each in 64 bits."""
    numbers = (part.start, part.stop, part.step)
    for number in numbers:
        if number is not None and not is_whole(number):
            raise TypeError(
                f"a slice of axis {axis} must be of whole numbers and None, "
                f"got {type(number).__name__}"
            )
    if part.step == 0:
        raise IndexError(f"the step of a slice of axis {axis} must not be 0")
    step = 1 if part.step is None else part.step
    start = (0 if step > 0 else -1) if part.start is None else part.start
    stop = (_LAST if step > 0 else _FIRST) if part.stop is None else part.stop
    first, last, stride = (min(max(int(n), _FIRST), _LAST) for n in (start, stop, step))
    return first, last, stride
