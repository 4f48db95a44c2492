"""pool2d against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, distinct
from op_runner import run_op


def pool2d(
    X: Doubles,
    pooling_type: str,
    ksize: list[int],
    global_pooling: bool = False,
    strides: tuple[int, int] = (1, 1),
    paddings: tuple[int, int] = (0, 0),
    ceil_mode: bool = False,
    **_: Any,
) -> dict[str, Doubles]:
    n, c, height, width = X.shape
    if global_pooling:
        ksize, strides, paddings = [height, width], (1, 1), (0, 0)
    reduce = np.max if pooling_type == "max" else np.mean

    def windows(extent: int, axis: int) -> list[slice]:
        left = extent + 2 * paddings[axis] - ksize[axis]
        count = -(-left // strides[axis]) if ceil_mode else left // strides[axis]
        starts = [i * strides[axis] - paddings[axis] for i in range(count + 1)]
        cut = [slice(max(s, 0), min(s + ksize[axis], extent)) for s in starts]
        return [part for part in cut if part.start < part.stop]

    rows, cols = windows(height, 0), windows(width, 1)
    out = np.zeros((n, c, len(rows), len(cols)))
    for i, row in enumerate(rows):
        for j, col in enumerate(cols):
            out[:, :, i, j] = reduce(X[:, :, row, col], axis=(2, 3))
    return {"Out": out}


SHAPES: list[tuple[list[int], dict[str, Any]]] = [
    ([1, 1, 1, 1], {"ksize": [1, 1]}),
    ([2, 3, 4, 6], {"ksize": [2, 2], "strides": [2, 2]}),
    ([2, 3, 7, 5], {"ksize": [3, 2]}),
    ([1, 2, 7, 5], {"ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1]}),
    ([1, 2, 7, 5], {"ksize": [3, 2], "strides": [1, 2], "paddings": [2, 1]}),
    ([1, 2, 6, 6], {"ksize": [3, 3], "strides": [2, 2], "ceil_mode": True}),
    ([1, 2, 6, 6], {"ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1], "ceil_mode": True}),
    ([2, 3, 5, 3], {"ksize": [1, 1], "global_pooling": True}),
    ([1, 17, 3, 3], {"ksize": [2, 2]}),
    ([1, 1, 2, 65], {"ksize": [1, 3], "strides": [1, 3]}),
    ([0, 3, 4, 4], {"ksize": [2, 2]}),
    ([1, 1, 4, 4], {"ksize": [2, 2], "use_cudnn": True, "data_format": "NCHW"}),
]
CASES = [
    OpCase("pool2d", {"X": distinct(*shape)}, pool2d, {"pooling_type": kind, **attrs})
    for kind in ("max", "avg")
    for shape, attrs in SHAPES
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
            "paddings must be smaller than ksize",
        ),
        ([1, 1, 4, 4], {"ksize": [2]}, r"ksize must be a list of two numbers, got \[2\]"),
        ([1, 1, 4, 4], {"ksize": [0, 2]}, r"ksize must be at least 1 .*got \[0, 2\]"),
        ([1, 1, 4, 4], {}, "attribute 'ksize' must be given"),
    ],
)
def test_a_pooling_that_does_not_fit_is_an_error(
    shape: list[int], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"pool2d: {message}"):
        run_op("pool2d", {"X": distinct(*shape)}, {"pooling_type": "max", **attrs})


def test_an_unknown_pooling_is_an_error_that_lists_the_known_ones() -> None:
    message = "pool2d: attribute 'pooling_type' must be one of max, avg, got .?median"
    with pytest.raises(ValueError, match=message):
        run_op("pool2d", {"X": distinct(1, 1, 4, 4)}, {"pooling_type": "median", "ksize": [2, 2]})


def test_the_gradient_of_max_pooling_goes_to_one_element_of_a_tie() -> None:
    x = np.zeros((1, 1, 2, 2), dtype=np.float32)
    one = np.ones((1, 1, 1, 1), dtype=np.float32)
    attrs = {"pooling_type": "max", "ksize": [2, 2]}
    grad = run_op("pool2d_grad", {"X": x, "Out@GRAD": one}, attrs)["X@GRAD"]
    assert sorted(grad.ravel()) == [0, 0, 0, 1]


@pytest.mark.parametrize("pooling_type", ["max", "avg"])
def test_a_window_may_be_far_wider_than_what_it_covers(pooling_type: str) -> None:
    x = distinct(1, 1, 1, 3)
    attrs = {"pooling_type": pooling_type, "ksize": [1, 2**30], "paddings": [0, 2**29]}
    out = run_op("pool2d", {"X": x}, attrs)["Out"]
    expected = x.max() if pooling_type == "max" else x.mean()
    np.testing.assert_allclose(out, np.full((1, 1, 1, 4), expected), rtol=1e-14)
