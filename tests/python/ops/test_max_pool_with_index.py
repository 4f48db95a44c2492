"""Maxima with their places, against NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, distinct
from op_runner import Value, run_op


def max_pool(
    X: Doubles,
    ksize: Sequence[int],
    global_pooling: bool = False,
    strides: Sequence[int] | None = None,
    paddings: Sequence[int] | None = None,
    adaptive: bool = False,
) -> dict[str, Value]:
    extents = X.shape[2:]
    steps, pads = strides or [1] * len(extents), paddings or [0] * len(extents)
    if global_pooling:
        ksize, steps, pads = extents, [1] * len(extents), [0] * len(extents)
    lines = zip(extents, ksize, steps, pads, strict=True)
    counts = ksize if adaptive else [(e + 2 * p - k) // s + 1 for e, k, s, p in lines]
    shape = (*X.shape[:2], *counts)
    out, mask = np.zeros(shape), np.zeros(shape, dtype=np.int32)
    places = np.arange(np.prod(extents)).reshape(extents)
    for at in np.ndindex(*shape):
        starts = [i * s - p for i, s, p in zip(at[2:], steps, pads, strict=True)]
        window = tuple(slice(max(s, 0), s + k) for s, k in zip(starts, ksize, strict=True))
        if adaptive:
            shares = zip(at[2:], extents, ksize, strict=True)
            window = tuple(slice(i * e // n, -(-(i + 1) * e // n)) for i, e, n in shares)
        values = X[*at[:2], *window].ravel()
        out[at] = values.max()
        mask[at] = places[window].ravel()[values.argmax()]
    return {"Out": out, "Mask": mask}


def case(shape: list[int], ksize: list[int], **attrs: Any) -> OpCase:
    op_type = f"max_pool{len(shape) - 2}d_with_index"
    return OpCase(op_type, {"X": distinct(*shape)}, max_pool, {"ksize": ksize, **attrs})


CASES = [
    case([1, 1, 1, 1], [1, 1]),
    case([2, 3, 4, 6], [2, 2], strides=[2, 2]),
    case([2, 3, 7, 5], [3, 2]),
    case([1, 2, 7, 5], [3, 3], strides=[2, 1], paddings=[1, 2]),
    case([2, 3, 5, 3], [1, 1], global_pooling=True),
    case([1, 1, 2, 70], [2, 3]),
    case([2, 3, 7, 5], [3, 2], adaptive=True),
    case([1, 2, 5, 4, 3], [2, 4, 2], adaptive=True),
    case([0, 3, 4, 4], [2, 2]),
    case([1, 2, 3, 4, 5], [2, 2, 3]),
    case([2, 1, 4, 3, 4], [3, 2, 2], strides=[1, 2, 2], paddings=[1, 0, 1]),
    case([1, 2, 2, 3, 2], [1, 1, 1], global_pooling=True),
    case([0, 2, 2, 2, 2], [2, 2, 2]),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(
    ("shape", "attrs", "message"),
    [
        ([3, 4, 4], {"ksize": [2, 2]}, r"X must have rank 4 \[N, C, H, W\], got \[3, 4, 4\]"),
        (
            [1, 1, 2, 2],
            {"ksize": [3, 3]},
            r"a window must fit into the padded X, got X \[1, 1, 2, 2\]",
        ),
        (
            [1, 1, 4, 4],
            {"ksize": [2, 2], "paddings": [2, 0]},
            r"paddings must be smaller than ksize, got paddings \[2, 0\], ksize \[2, 2\]",
        ),
        ([1, 1, 4, 4], {"ksize": [2, 2], "strides": [1, 0]}, r"strides must be at least 1"),
        (
            [0, 1, 2**16, 2**16],
            {"ksize": [2, 2]},
            r"X must have less than 2147483648 elements in a channel, got",
        ),
    ],
)
def test_a_pooling_that_does_not_fit_is_an_error(
    shape: list[int], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"max_pool2d_with_index: {message}"):
        run_op("max_pool2d_with_index", {"X": distinct(*shape)}, attrs)


def test_the_mask_names_the_first_of_equal_maxima_and_a_nan_before_all() -> None:
    x = np.array([[[[1, 3, 3, 1], [3, 1, np.nan, np.nan]]]], dtype=np.float32)
    got = run_op("max_pool2d_with_index", {"X": x}, {"ksize": [2, 2], "strides": [2, 2]})
    np.testing.assert_array_equal(got["Out"], [[[[3, np.nan]]]])
    np.testing.assert_array_equal(got["Mask"], [[[[1, 6]]]])


@pytest.mark.parametrize("place", [-1, 4])
def test_a_mask_that_names_no_element_is_an_error(place: int) -> None:
    inputs: dict[str, Value] = {
        "X": np.zeros((1, 1, 2, 2)),
        "Mask": np.full((1, 1, 1, 1), place, dtype=np.int32),
        "Out@GRAD": np.ones((1, 1, 1, 1)),
    }
    message = rf"max_pool2d_with_index_grad: Mask must be in \[0, 4\), got {place} at position 0"
    with pytest.raises(ValueError, match=message):
        run_op("max_pool2d_with_index_grad", inputs, {"ksize": [2, 2]})
