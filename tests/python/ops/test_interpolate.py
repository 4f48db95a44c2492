"""interpolate against NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op


def cubic(distance: float) -> float:
    a, d = -0.75, abs(distance)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def weights(mode: str, extent: int, count: int, align_corners: bool) -> Doubles:
    """[count, extent]: what each output takes from each input."""
    matrix = np.zeros((count, extent))
    for i in range(count):
        if mode == "nearest":
            matrix[i, i * extent // count] += 1
            continue
        at = (i + 0.5) * extent / count - 0.5
        if align_corners:
            at = i * (extent - 1) / (count - 1) if count > 1 else 0.0
        reach = 2 if mode == "bicubic" else 1
        for source in range(int(np.floor(at)) - reach + 1, int(np.floor(at)) + reach + 1):
            weight = cubic(at - source) if mode == "bicubic" else 1 - abs(at - source)
            matrix[i, min(max(source, 0), extent - 1)] += weight
    return matrix


def interpolate(
    X: Doubles,
    mode: str = "nearest",
    size: Sequence[int] = (),
    scale: Sequence[float] = (),
    align_corners: bool = False,
) -> dict[str, Doubles]:
    extents = X.shape[2:]
    counts = size or [int(np.floor(e * s)) for e, s in zip(extents, scale, strict=True)]
    out = X
    for axis, (extent, count) in enumerate(zip(extents, counts, strict=True), start=2):
        matrix = weights(mode, extent, count, align_corners)
        out = np.moveaxis(np.tensordot(matrix, out, axes=(1, axis)), 0, axis)
    return {"Out": out}


def case(shape: tuple[int, ...], mode: str, **attrs: Any) -> OpCase:
    return OpCase("interpolate", {"X": normal(*shape)}, interpolate, {"mode": mode, **attrs})


CASES = [
    case((2, 3, 5), "nearest", size=[8]),
    case((2, 3, 5, 4), "nearest", size=[3, 9]),
    case((1, 2, 3, 2, 4), "nearest", scale=[2.0, 1.5, 0.5]),
    case((2, 3, 5), "linear", size=[8]),
    case((2, 3, 5), "linear", size=[3], align_corners=True),
    case((2, 3, 5), "linear", size=[1], align_corners=True),
    case((2, 3, 4, 5), "bilinear", size=[7, 3]),
    case((2, 3, 4, 5), "bilinear", size=[7, 3], align_corners=True),
    case((2, 3, 4, 5), "bilinear", scale=[2.0, 2.0]),
    case((1, 1, 1, 1), "bilinear", size=[3, 2]),
    case((1, 2, 6, 67), "bilinear", size=[3, 131]),
    case((2, 3, 4, 5), "bicubic", size=[7, 3]),
    case((2, 3, 4, 5), "bicubic", scale=[1.75, 2.0], align_corners=True),
    case((2, 2, 3, 2, 4), "trilinear", size=[4, 5, 3]),
    case((1, 2, 3, 2, 4), "trilinear", size=[4, 5, 3], align_corners=True),
    case((0, 2, 3), "linear", size=[5]),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_an_image_of_the_same_size_stays_as_it_is(mode: str) -> None:
    x = normal(2, 3, 4, 5)
    out = run_op("interpolate", {"X": x}, {"mode": mode, "size": [4, 5]})["Out"]
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize(
    ("shape", "attrs", "message"),
    [
        ((2, 3), {"size": [4]}, r"X must have one to three spatial axes for mode 'nearest', got"),
        (
            (2, 3, 4),
            {"mode": "bilinear", "size": [4]},
            r"X must have \[N, C, H, W\] for mode 'bilinear', got \[2, 3, 4\]",
        ),
        (
            (2, 3, 4),
            {"size": [4], "align_corners": True},
            "align_corners must be false for mode 'nearest', got true",
        ),
        ((2, 3, 4), {}, "one of size and scale must be given, got none"),
        ((2, 3, 4), {"size": [4], "scale": [2.0]}, "one of size and scale must be given, got both"),
        ((2, 3, 4), {"size": [4, 4]}, "size or scale must be a list of one number, got 2"),
        ((2, 3, 0), {"size": [4]}, r"X must have a length of at least 1, got \[2, 3, 0\]"),
        (
            (2, 3, 4),
            {"size": [0]},
            r"size must be at least 1 and at most 1073741824, got \[0\]",
        ),
        ((2, 3, 4), {"scale": [0.0]}, "scale must be above 0 and finite, got 0.0"),
        (
            (2, 3, 4),
            {"scale": [0.125]},
            r"Out must have extents of at least 1 and at most 1073741824, got X \[2, 3, 4\], "
            r"scale 0.125",
        ),
        (
            (2, 3, 4),
            {"mode": "area", "size": [4]},
            "attribute 'mode' must be one of nearest, linear, bilinear, trilinear, bicubic, "
            "got 'area'",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(
    shape: tuple[int, ...], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^interpolate: {message}"):
        run_op("interpolate", {"X": normal(*shape)}, attrs)
