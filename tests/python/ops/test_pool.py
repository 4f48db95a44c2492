"""Pooling against NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from channels_last import with_data_format
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, distinct
from op_runner import run_op


@with_data_format(["X"])
def pool(
    X: Doubles,
    pooling_type: str,
    ksize: Sequence[int],
    global_pooling: bool = False,
    strides: Sequence[int] | None = None,
    paddings: Sequence[int] | None = None,
    ceil_mode: bool = False,
    adaptive: bool = False,
    **_: Any,
) -> dict[str, Doubles]:
    extents = X.shape[2:]
    steps, pads = strides or [1] * len(extents), paddings or [0] * len(extents)
    if global_pooling:
        ksize, steps, pads = extents, [1] * len(extents), [0] * len(extents)
    reduce = np.max if pooling_type == "max" else np.mean

    def windows(extent: int, size: int, step: int, pad: int) -> list[slice]:
        left = extent + 2 * pad - size
        count = -(-left // step) if ceil_mode else left // step
        starts = [i * step - pad for i in range(count + 1)]
        cut = [slice(max(s, 0), min(s + size, extent)) for s in starts]
        return [part for part in cut if part.start < part.stop]

    def shares(extent: int, count: int) -> list[slice]:
        return [slice(i * extent // count, -(-(i + 1) * extent // count)) for i in range(count)]

    if adaptive and not global_pooling:
        parts = list(map(shares, extents, ksize))
    else:
        parts = list(map(windows, extents, ksize, steps, pads))
    out = np.zeros((*X.shape[:2], *map(len, parts)))
    for at in np.ndindex(*map(len, parts)):
        window = [lines[i] for lines, i in zip(parts, at, strict=True)]
        out[:, :, *at] = reduce(X[:, :, *window], axis=tuple(range(2, X.ndim)))
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
    ([2, 3, 7, 5], {"ksize": [3, 2], "adaptive": True}),
    ([2, 3, 6, 4], {"ksize": [3, 2], "adaptive": True, "strides": [5, 5], "paddings": [3, 3]}),
    ([1, 2, 2, 3], {"ksize": [5, 7], "adaptive": True}),
    ([1, 2, 4, 69], {"ksize": [1, 67], "adaptive": True}),
    ([2, 3, 5, 3], {"ksize": [2, 2], "adaptive": True, "global_pooling": True}),
    ([2, 3, 5, 4, 3], {"ksize": [2, 4, 2], "adaptive": True}),
    ([2, 3, 7], {"ksize": [3], "adaptive": True}),
    ([1, 1, 1], {"ksize": [1]}),
    ([2, 3, 7], {"ksize": [3], "strides": [2], "paddings": [1]}),
    ([1, 2, 6], {"ksize": [3], "strides": [2], "ceil_mode": True}),
    ([1, 2, 5], {"ksize": [1], "global_pooling": True}),
    ([1, 1, 4], {"ksize": [2], "use_cudnn": True, "data_format": "NCL"}),
    ([0, 3, 4], {"ksize": [2]}),
    ([1, 1, 1, 1, 1], {"ksize": [1, 1, 1]}),
    ([2, 3, 4, 5, 3], {"ksize": [2, 3, 2]}),
    ([2, 2, 4, 5, 6], {"ksize": [2, 2, 2], "strides": [2, 3, 2]}),
    ([1, 2, 5, 4, 6], {"ksize": [3, 3, 2], "strides": [2, 1, 2], "paddings": [1, 2, 1]}),
    ([1, 2, 6, 4, 5], {"ksize": [3, 3, 2], "strides": [2, 2, 2], "ceil_mode": True}),
    ([2, 3, 2, 5, 3], {"ksize": [1, 1, 1], "global_pooling": True}),
    ([0, 3, 2, 3, 3], {"ksize": [2, 2, 2]}),
    ([1, 1, 2, 2, 2], {"ksize": [2, 2, 2], "use_cudnn": True, "data_format": "NCDHW"}),
    ([2, 7, 5, 3], {"ksize": [3, 2], "data_format": "NHWC", "strides": [2, 1]}),
    ([1, 7, 5, 17], {"ksize": [3, 3], "data_format": "NHWC", "paddings": [1, 1]}),
    ([2, 7, 5, 3], {"ksize": [3, 2], "adaptive": True, "data_format": "NHWC"}),
    ([2, 5, 3, 4], {"ksize": [1, 1], "global_pooling": True, "data_format": "NHWC"}),
    ([0, 5, 4, 3], {"ksize": [2, 2], "data_format": "NHWC"}),
    ([2, 7, 3], {"ksize": [3], "strides": [2], "ceil_mode": True, "data_format": "NLC"}),
    ([1, 4, 5, 3, 2], {"ksize": [2, 3, 2], "data_format": "NDHWC"}),
]
CASES = [
    OpCase(f"pool{len(shape) - 2}d", {"X": distinct(*shape)}, pool, {"pooling_type": kind, **attrs})
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
        ([1, 1, 0, 4], {"ksize": [2, 2], "adaptive": True}, "a window must fit into the padded X"),
    ],
)
def test_a_pooling_that_does_not_fit_is_an_error(
    shape: list[int], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"pool2d: {message}"):
        run_op("pool2d", {"X": distinct(*shape)}, {"pooling_type": "max", **attrs})


@pytest.mark.parametrize(
    ("shape", "attrs", "message"),
    [
        (
            [3, 4, 4, 4],
            {"ksize": [2, 2, 2]},
            r"X must have rank 5 \[N, C, D, H, W\], got \[3, 4, 4, 4\]",
        ),
        (
            [1, 1, 2, 3, 3],
            {"ksize": [3, 3, 3]},
            r"a window must fit into the padded X, got X \[1, 1, 2, 3, 3\], ksize \[3, 3, 3\], "
            r"paddings \[0, 0, 0\]",
        ),
        (
            [1, 1, 4, 4, 4],
            {"ksize": [2, 2, 2], "paddings": [0, 0, 2]},
            r"paddings must be smaller than ksize, got paddings \[0, 0, 2\], ksize \[2, 2, 2\]",
        ),
        ([1, 1, 4, 4, 4], {"ksize": [2, 2]}, r"ksize must be a list of three numbers, got"),
        (
            [1, 1, 4, 4, 4],
            {"ksize": [2, 2, 2], "strides": [1, 0, 1]},
            r"strides must be at least 1 .*got \[1, 0, 1\]",
        ),
    ],
)
def test_a_pooling_of_volumes_that_does_not_fit_is_an_error(
    shape: list[int], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"pool3d: {message}"):
        run_op("pool3d", {"X": distinct(*shape)}, {"pooling_type": "max", **attrs})


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
