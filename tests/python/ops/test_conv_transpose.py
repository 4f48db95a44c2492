"""Transposed convolutions against NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from channels_last import with_data_format
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op


@with_data_format(["Input"])
def conv_transpose(
    Input: Doubles,
    Filter: Doubles,
    strides: Sequence[int] | None = None,
    paddings: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    groups: int = 1,
    **_: Any,
) -> dict[str, Doubles]:
    extents, kernel = Input.shape[2:], Filter.shape[2:]
    ones, zeros = [1] * len(kernel), [0] * len(kernel)
    steps, pads, apart = strides or ones, paddings or zeros, dilations or ones
    lines = zip(extents, kernel, steps, apart, strict=True)
    whole = [(e - 1) * s + d * (k - 1) + 1 for e, k, s, d in lines]
    channels, per_group = Filter.shape[:2]
    out = np.zeros((len(Input), per_group * groups, *whole))
    for c in range(channels):
        first = c // (channels // groups) * per_group
        for tap in np.ndindex(*kernel):
            starts = [i * d for i, d in zip(tap, apart, strict=True)]
            ends = [a + (e - 1) * s + 1 for a, e, s in zip(starts, extents, steps, strict=True)]
            window = tuple(map(slice, starts, ends, steps))
            for f in range(per_group):
                out[:, first + f, *window] += Input[:, c] * Filter[c, f, *tap]
    cut = [slice(p, n - p) for p, n in zip(pads, whole, strict=True)]
    return {"Output": out[:, :, *cut]}


def case(image: list[int], filters: list[int], **attrs: Any) -> OpCase:
    inputs = {"Input": normal(*image), "Filter": normal(*filters, seed=1)}
    return OpCase(f"conv{len(image) - 2}d_transpose", inputs, conv_transpose, attrs)


CASES = [
    case([2, 4, 5, 3], [3, 4, 3, 2], data_format="NHWC", strides=[2, 1]),
    case([1, 9, 4], [4, 3, 3], data_format="NLC", paddings=[1], groups=2),
    case([1, 3, 4, 3, 2], [2, 3, 2, 3, 2], data_format="NDHWC"),
    case([1, 1, 1, 1], [1, 1, 1, 1]),
    case([1, 1, 3, 3], [1, 1, 2, 2]),
    case([2, 3, 4, 5], [3, 4, 3, 2]),
    case([2, 3, 4, 5], [3, 4, 3, 3], paddings=[1, 1]),
    case([2, 3, 4, 3], [3, 5, 3, 2], strides=[2, 3], paddings=[1, 0]),
    case([1, 2, 4, 3], [2, 5, 3, 2], strides=[1, 2], dilations=[2, 3], paddings=[2, 1]),
    case([1, 4, 3, 4], [4, 3, 3, 3], groups=2, strides=[2, 2]),
    case([1, 3, 3, 3], [3, 1, 2, 2], groups=3),
    case([1, 1, 2, 2], [1, 1, 1, 1], strides=[3, 3]),
    case([1, 17, 2, 3], [17, 18, 2, 1]),
    case([0, 3, 4, 4], [3, 2, 3, 3]),
    case([2, 0, 4, 4], [0, 2, 3, 3]),
    case([1, 1, 2, 2], [1, 1, 2, 2], use_cudnn=True, data_format="NCHW", workspace_size_MB=1),
    case([1, 1, 1], [1, 1, 1]),
    case([2, 3, 5], [3, 4, 3], strides=[2], paddings=[1]),
    case([1, 4, 4], [4, 1, 2], groups=2, dilations=[2]),
    case([0, 2, 3], [2, 3, 2]),
    case([1, 1, 2], [1, 1, 2], use_cudnn=True, data_format="NCL", workspace_size_MB=1),
    case([1, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
    case([2, 3, 2, 3, 2], [3, 2, 2, 3, 2]),
    case([1, 2, 3, 2, 3], [2, 3, 2, 3, 3], strides=[2, 1, 3], paddings=[0, 1, 1]),
    case([1, 4, 2, 2, 3], [4, 1, 2, 1, 2], groups=2, dilations=[1, 2, 3]),
    case([0, 2, 2, 2, 2], [2, 3, 2, 2, 2]),
    case([1, 1, 2, 2, 2], [1, 1, 2, 2, 2], use_cudnn=True, data_format="NCDHW"),
    case([1, 1, 2, 2, 2], [1, 1, 2, 2, 2], workspace_size_MB=1),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(
    ("image", "filters", "attrs", "message"),
    [
        (
            [2, 3, 7, 5],
            [4, 2, 3, 3],
            {},
            r"channels of Input must equal dimension 0 of Filter, "
            r"got Input \[2, 3, 7, 5\], Filter \[4, 2, 3, 3\]",
        ),
        (
            [2, 3, 7, 5],
            [3, 2, 3, 3],
            {"groups": 2},
            r"channels of Input must be a multiple of groups, got Filter \[3, 2, 3, 3\], groups 2",
        ),
        ([3, 7, 5], [3, 2, 3, 3], {}, r"Input must have rank 4 \[N, C, H, W\], got \[3, 7, 5\]"),
        (
            [2, 3, 7, 5],
            [3, 2, 3],
            {},
            r"Filter must have rank 4 \[C, M / groups, kernel height, kernel width\], got",
        ),
        (
            [1, 1, 1, 2],
            [1, 1, 2, 2],
            {"paddings": [1, 1]},
            r"paddings must leave something of Output, got Input \[1, 1, 1, 2\], "
            r"Filter \[1, 1, 2, 2\], paddings \[1, 1\]",
        ),
        (
            [1, 1, 0, 2],
            [1, 1, 2, 2],
            {},
            r"Input must have a height and width of at least 1, got \[1, 1, 0, 2\]",
        ),
        (
            [1, 1, 2, 2],
            [1, 1, 2, 2],
            {"strides": [0, 1]},
            r"strides must be at least 1 .*got \[0, 1\]",
        ),
        ([1, 1, 2, 2], [1, 1, 2, 2], {"groups": 0}, "groups must be at least 1, got 0"),
        (
            [0, 1, 3, 2],
            [1, 1, 1, 1],
            {"strides": [2**30, 1]},
            "Output must have a height and width of at most 1073741824",
        ),
    ],
)
def test_a_transposed_convolution_that_does_not_fit_is_an_error(
    image: list[int], filters: list[int], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"conv2d_transpose: {message}"):
        run_op("conv2d_transpose", {"Input": normal(*image), "Filter": normal(*filters)}, attrs)


def test_a_result_with_too_many_elements_is_an_error() -> None:
    inputs = {"Input": normal(0, 1, 2, 2, 2), "Filter": normal(1, 1, 1, 1, 1)}
    message = (
        r"conv3d_transpose: Output must have at most 1152921504606846976 elements in a channel, "
        r"got \[0, 1, 1073741824, 1073741824, 1073741824\]"
    )
    with pytest.raises(ValueError, match=message):
        run_op("conv3d_transpose", inputs, {"strides": [2**30 - 1] * 3})
