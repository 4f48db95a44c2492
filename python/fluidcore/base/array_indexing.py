"""x[ids], x[:, ids], x[rows, columns], x[mask]: indices that are arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

INTEGERS = ("int32", "int64")


def is_array_index(item: Any) -> bool:
    """Whether an item of an index is a list or an array; of tensors their class knows it."""
    return isinstance(item, list) or (isinstance(item, np.ndarray) and item.ndim > 0)


def as_array_index(item: Any) -> NDArray[Any]:
    """A list or an array as whole numbers or truth values.

    Raises:
        TypeError: It holds something else.
    """
    try:
        array = np.asarray(item)
    except ValueError:
        array = np.empty(1, object)
    if array.size == 0 and isinstance(item, list):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise TypeError(
            f"an array that is an index must be of whole numbers or bool, got {array.dtype}"
        )
    return array


def without_masks(items: Sequence[Any], shape: Sequence[int]) -> list[Any]:
    """Each mask as the places where it is true, one array for each of its dimensions.

    Args:
        items: Of an index, arrays as `as_array_index` gives them.
        shape: Of what is indexed, -1 where an extent is not known.

    Raises:
        IndexError: A mask has other extents than the dimensions that it is for.
    """
    result: list[Any] = []
    rank = len(shape)
    given = sum(_dimensions(item) for item in items)
    axis = 0
    for item in items:
        if isinstance(item, np.ndarray) and item.dtype == bool:
            wanted = list(shape[axis : axis + item.ndim])
            if len(wanted) < item.ndim or any(
                extent not in (-1, own) for extent, own in zip(wanted, item.shape, strict=True)
            ):
                raise IndexError(
                    f"a mask must have the extents of the dimensions it is for, {wanted}, got "
                    f"{list(item.shape)}"
                )
            result += np.nonzero(item)
        else:
            result.append(item)
        axis += rank - given if item is Ellipsis else _dimensions(item)
    return result


def _dimensions(item: Any) -> int:
    """How many dimensions an item of an index is for."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1


def wrapped(array: NDArray[Any], axis: int, extent: int) -> NDArray[Any]:
    """Whole numbers as int64 in [0, extent), those from the end counted from the start.

    Raises:
        IndexError: There is no such element, or it is counted from an end that is not known.
    """
    index = array.astype(np.int64)
    low = -extent if extent != -1 else 0
    for value in index[(index < low) | ((index >= extent) & (extent != -1))][:1]:
        wanted = f"in [{low}, {extent})" if extent != -1 else "at least 0, as its extent is unknown"
        raise IndexError(f"an index of axis {axis} must be {wanted}, got {value}")
    return np.where(index < 0, index + extent, index)


def taken(x: Any, place: int, indices: Sequence[Any]) -> Any:
    """`x` with the dimensions from `place` on replaced by those of the indices.

    Args:
        x: A Variable or an eager tensor.
        place: The first dimension that is indexed.
        indices: For each such dimension, tensors of whole numbers of one shape.
    """
    count, depth, rank = len(indices), len(indices[0].shape), len(x.shape)
    if count == 1 and depth == 1:
        return x._single("index_select", {"X": x, "Index": indices[0]}, {"axis": place})
    columns = [index._single("unsqueeze", {"X": index}, {"axes": [depth]}) for index in indices]
    places = x._single("concat", {"X": columns}, {"axis": depth}) if count > 1 else columns[0]
    behind = range(place + count, rank)
    if place:
        order = [*range(place, place + count), *range(place), *behind]
        x = x._single("transpose", {"X": x}, {"axis": order})
    out = x._single("gather_nd", {"X": x, "Index": places}, {})
    if not place:
        return out
    order = [*range(depth, depth + place), *range(depth), *range(depth + place, len(out.shape))]
    return out._single("transpose", {"X": out}, {"axis": order})
