"""Convolutions against NumPy."""

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
def conv(
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
    padded = np.pad(Input, [(0, 0), (0, 0), *((p, p) for p in pads)])
    lines = zip(extents, kernel, steps, pads, apart, strict=True)
    shape = [(e + 2 * p - d * (k - 1) - 1) // s + 1 for e, k, s, p, d in lines]
    m, per_group = Filter.shape[:2]
    out = np.zeros((len(Input), m, *shape))
    for f in range(m):
        first = f // (m // groups) * per_group
        channels = padded[:, first : first + per_group]
        for tap in np.ndindex(*kernel):
            starts = [i * d for i, d in zip(tap, apart, strict=True)]
            ends = [a + (n - 1) * s + 1 for a, n, s in zip(starts, shape, steps, strict=True)]
            window = tuple(map(slice, starts, ends, steps))
            part = channels[:, :, *window]
            out[:, f] += np.tensordot(part, Filter[f, :, *tap], (1, 0))
    return {"Output": out}


def case(image: list[int], filters: list[int], op_type: str = "", **attrs: Any) -> OpCase:
    inputs = {"Input": normal(*image), "Filter": normal(*filters, seed=1)}
    return OpCase(op_type or f"conv{len(image) - 2}d", inputs, conv, attrs)


CASES = [
    case([1, 1, 1, 1], [1, 1, 1, 1]),
    case([1, 1, 5, 5], [1, 1, 3, 3]),
    case([2, 3, 7, 5], [4, 3, 3, 3]),
    case([2, 3, 7, 5], [4, 3, 3, 3], paddings=[1, 1]),
    case([2, 3, 7, 5], [4, 3, 1, 1]),
    case([2, 3, 7, 5], [4, 3, 3, 2], strides=[2, 1], paddings=[1, 0]),
    case([1, 2, 9, 8], [3, 2, 3, 3], dilations=[2, 2]),
    case([1, 2, 9, 8], [3, 2, 3, 2], dilations=[2, 3], strides=[1, 2], paddings=[2, 1]),
    case([2, 3, 7, 5], [6, 1, 3, 3], groups=3),
    case([1, 4, 5, 5], [6, 2, 3, 3], groups=2, paddings=[1, 1]),
    case([1, 3, 5, 5], [3, 1, 3, 3], groups=3, strides=[2, 2], paddings=[1, 1]),
    case([1, 17, 4, 4], [17, 17, 1, 1]),
    case([1, 1, 3, 65], [2, 1, 1, 5], paddings=[0, 2]),
    case([1, 1, 7, 7], [1, 1, 7, 7], paddings=[3, 3]),
    case([0, 3, 5, 5], [4, 3, 3, 3]),
    case([2, 3, 5, 5], [0, 3, 3, 3]),
    case([1, 1, 4, 4], [1, 1, 2, 2], use_cudnn=True, data_format="NCHW", workspace_size_MB=1),
    case([1, 1, 1], [1, 1, 1]),
    case([2, 3, 9], [4, 3, 3], paddings=[1]),
    case([2, 4, 70], [6, 2, 5], strides=[2], paddings=[2], dilations=[3], groups=2),
    case([0, 2, 5], [3, 2, 2]),
    case([1, 1, 4], [1, 1, 2], use_cudnn=True, data_format="NCL", workspace_size_MB=1),
    case([1, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
    case([2, 3, 4, 5, 3], [4, 3, 2, 3, 2]),
    case([2, 3, 4, 5, 3], [4, 3, 3, 3, 3], paddings=[1, 1, 1]),
    case([1, 2, 6, 5, 7], [3, 2, 2, 3, 2], strides=[2, 1, 3], paddings=[1, 0, 1]),
    case([1, 2, 5, 3, 4], [2, 2, 2, 3, 2], dilations=[3, 1, 2], paddings=[0, 1, 2]),
    case([1, 4, 3, 4, 3], [6, 2, 2, 2, 2], groups=2, paddings=[1, 0, 0]),
    case([1, 3, 3, 4, 3], [3, 1, 3, 3, 3], groups=3, paddings=[1, 1, 1], strides=[2, 2, 2]),
    case([0, 3, 3, 3, 3], [4, 3, 2, 2, 2]),
    case([1, 1, 2, 2, 2], [1, 1, 2, 2, 2], use_cudnn=True, data_format="NCDHW"),
    case([1, 1, 2, 2, 2], [1, 1, 2, 2, 2], workspace_size_MB=1),
    case([2, 3, 7, 5], [3, 1, 3, 3], "depthwise_conv2d", groups=3),
    case([1, 3, 7, 5], [6, 1, 3, 2], "depthwise_conv2d", groups=3, strides=[2, 1], paddings=[1, 0]),
    case([1, 20, 9, 8], [20, 1, 3, 3], "depthwise_conv2d", groups=20, dilations=[2, 2]),
    case([1, 1, 4, 4], [2, 1, 2, 2], "depthwise_conv2d"),
    case([0, 3, 5, 5], [3, 1, 3, 3], "depthwise_conv2d", groups=3),
    case([1, 1, 4, 4], [1, 1, 2, 2], "depthwise_conv2d", use_cudnn=True, data_format="NCHW"),
    case([1, 1, 4, 4], [1, 1, 2, 2], "depthwise_conv2d", workspace_size_MB=1),
    case([2, 7, 5, 3], [4, 3, 3, 3], data_format="NHWC", paddings=[1, 0]),
    case([1, 9, 8, 4], [6, 2, 3, 2], data_format="NHWC", groups=2, strides=[1, 2]),
    case([1, 3, 10, 2], [34, 2, 2, 2], data_format="NHWC", dilations=[1, 2]),
    case([0, 5, 5, 3], [4, 3, 3, 3], data_format="NHWC"),
    case([1, 7, 5, 3], [6, 1, 3, 2], "depthwise_conv2d", groups=3, data_format="NHWC"),
    case([2, 9, 3], [4, 3, 3], data_format="NLC", strides=[2]),
    case([1, 4, 5, 3, 2], [3, 2, 2, 3, 2], data_format="NDHWC", paddings=[1, 0, 1]),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(
    ("image", "filters", "attrs"),
    [
        ([8, 16, 28, 28], [32, 16, 3, 3], {"paddings": [1, 1]}),
        ([3, 3, 33, 31], [17, 3, 5, 5], {"strides": [2, 2]}),
        ([2, 32, 14, 14], [32, 1, 3, 3], {"groups": 32, "paddings": [1, 1]}),
        ([8, 28, 28, 16], [32, 16, 3, 3], {"paddings": [1, 1], "data_format": "NHWC"}),
        ([8, 4, 4, 64], [96, 64, 3, 3], {"data_format": "NHWC"}),
        ([6, 11, 14, 72], [56, 72, 3, 3], {"paddings": [1, 2], "data_format": "NHWC"}),
    ],
)
def test_large_convolutions_are_accurate(
    image: list[int], filters: list[int], attrs: dict[str, Any]
) -> None:
    x, w = normal(*image).astype(np.float32), normal(*filters).astype(np.float32)
    doubles = {"Input": x.astype(np.float64), "Filter": w.astype(np.float64)}
    expected = conv(**doubles, **attrs)["Output"]
    for threads in (1, 2):
        out = run_op("conv2d", {"Input": x, "Filter": w}, attrs, threads=threads)["Output"]
        np.testing.assert_allclose(out, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("image", "filters", "attrs", "message"),
    [
        (
            [2, 3, 7, 5],
            [4, 2, 3, 3],
            {},
            r"channels of Input must equal groups times dimension 1 of Filter, "
            r"got Input \[2, 3, 7, 5\], Filter \[4, 2, 3, 3\], groups 1",
        ),
        ([2, 4, 7, 5], [3, 2, 3, 3], {"groups": 2}, "filters must be a multiple of groups"),
        ([3, 7, 5], [4, 2, 3, 3], {}, r"Input must have rank 4 \[N, C, H, W\], got \[3, 7, 5\]"),
        ([2, 3, 2, 2], [4, 3, 3, 3], {}, r"Filter must fit into the padded Input, got Input"),
        (
            [2, 3, 7, 5],
            [4, 3, 3, 3],
            {"strides": [1]},
            r"strides must be a list of two numbers, got \[1\]",
        ),
        (
            [2, 3, 7, 5],
            [4, 3, 3, 3],
            {"strides": [0, 1]},
            r"strides must be at least 1 .*got \[0, 1\]",
        ),
        (
            [2, 3, 7, 5],
            [4, 3, 3, 3],
            {"paddings": [-1, 0]},
            r"paddings must be at least 0 .*got \[-1, 0\]",
        ),
        ([2, 3, 7, 5], [4, 3, 3, 3], {"groups": 0}, "groups must be at least 1, got 0"),
        ([1, 0, 2, 2], [0, 0, 1, 1], {"groups": 2**62}, "filters must be a multiple of groups"),
        (
            [0, 1, 2**40, 1],
            [1, 1, 1, 1],
            {},
            "Input must have a height and width of at most 1073741824",
        ),
        ([2, 3, 7, 5], [4, 3, 3, 3], {"data_format": "NHCW"}, "data_format must be .*, got 'NHCW'"),
    ],
)
def test_a_convolution_that_does_not_fit_is_an_error(
    image: list[int], filters: list[int], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"conv2d: {message}"):
        run_op("conv2d", {"Input": normal(*image), "Filter": normal(*filters)}, attrs)


@pytest.mark.parametrize(
    ("op_type", "image", "filters", "attrs", "message"),
    [
        (
            "conv1d",
            [2, 3, 7, 5],
            [4, 3, 3],
            {},
            r"Input must have rank 3 \[N, C, L\], got \[2, 3, 7, 5\]",
        ),
        (
            "conv1d",
            [2, 3, 7],
            [4, 3, 3],
            {"strides": [1, 1]},
            r"strides must be a list of one number, got \[1, 1\]",
        ),
        (
            "conv3d",
            [2, 3, 7, 5],
            [4, 3, 3, 3, 3],
            {},
            r"Input must have rank 5 \[N, C, D, H, W\], got \[2, 3, 7, 5\]",
        ),
        (
            "conv3d",
            [2, 3, 7, 5, 5],
            [4, 3, 3, 3],
            {},
            r"Filter must have rank 5 \[M, C / groups, kernel depth, kernel height, kernel width\]",
        ),
        (
            "conv3d",
            [2, 3, 7, 5, 5],
            [4, 3, 3, 3, 3],
            {"paddings": [1, 1]},
            r"paddings must be a list of three numbers, got \[1, 1\]",
        ),
        (
            "conv3d",
            [1, 1, 2, 3, 3],
            [1, 1, 3, 3, 3],
            {},
            r"Filter must fit into the padded Input, got Input \[1, 1, 2, 3, 3\], "
            r"Filter \[1, 1, 3, 3, 3\], paddings \[0, 0, 0\], dilations \[1, 1, 1\]",
        ),
        (
            "conv3d",
            [1, 1, 3, 3, 3],
            [1, 1, 0, 3, 3],
            {},
            r"Filter must have a depth, height and width of at least 1, got \[1, 1, 0, 3, 3\]",
        ),
        (
            "conv3d",
            [1, 1, 3, 3, 3],
            [1, 1, 1, 1, 1],
            {"data_format": "NCHW"},
            "data_format must be 'NCDHW' or 'NDHWC', got 'NCHW'",
        ),
        (
            "depthwise_conv2d",
            [1, 4, 3, 3],
            [4, 2, 2, 2],
            {"groups": 2},
            r"groups must be the channels of Input, got groups 2, Input \[1, 4, 3, 3\]",
        ),
    ],
)
def test_each_convolution_names_what_does_not_fit(
    op_type: str, image: list[int], filters: list[int], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"{op_type}: {message}"):
        run_op(op_type, {"Input": normal(*image), "Filter": normal(*filters)}, attrs)
