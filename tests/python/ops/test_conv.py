"""conv2d against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op


def conv2d(
    Input: Doubles,
    Filter: Doubles,
    strides: tuple[int, int] = (1, 1),
    paddings: tuple[int, int] = (0, 0),
    dilations: tuple[int, int] = (1, 1),
    groups: int = 1,
    **_: Any,
) -> dict[str, Doubles]:
    (n, _c, height, width), (m, per_group, kh, kw) = Input.shape, Filter.shape
    (sh, sw), (ph, pw), (dh, dw) = strides, paddings, dilations
    padded = np.pad(Input, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    out_h = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    out_w = (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    out = np.zeros((n, m, out_h, out_w))
    for f in range(m):
        first = f // (m // groups) * per_group
        channels = padded[:, first : first + per_group]
        for y in range(kh):
            for x in range(kw):
                rows = slice(y * dh, y * dh + (out_h - 1) * sh + 1, sh)
                cols = slice(x * dw, x * dw + (out_w - 1) * sw + 1, sw)
                out[:, f] += np.tensordot(channels[:, :, rows, cols], Filter[f, :, y, x], (1, 0))
    return {"Output": out}


def case(image: list[int], filters: list[int], **attrs: Any) -> OpCase:
    inputs = {"Input": normal(*image), "Filter": normal(*filters, seed=1)}
    return OpCase("conv2d", inputs, conv2d, attrs)


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
    ],
)
def test_large_convolutions_are_accurate(
    image: list[int], filters: list[int], attrs: dict[str, Any]
) -> None:
    x, w = normal(*image).astype(np.float32), normal(*filters).astype(np.float32)
    expected = conv2d(x.astype(np.float64), w.astype(np.float64), **attrs)["Output"]
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
        ([2, 3, 7, 5], [4, 3, 3, 3], {"data_format": "NHWC"}, "data_format must be .*, got 'NHWC'"),
    ],
)
def test_a_convolution_that_does_not_fit_is_an_error(
    image: list[int], filters: list[int], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"conv2d: {message}"):
        run_op("conv2d", {"Input": normal(*image), "Filter": normal(*filters)}, attrs)
