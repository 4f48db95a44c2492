"""pixel_shuffle against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op


def pixel_shuffle(X: Doubles, upscale_factor: int) -> dict[str, Doubles]:
    r = upscale_factor
    n, channels, height, width = X.shape
    out = np.zeros((n, channels // (r * r), height * r, width * r))
    for i in range(r):
        for j in range(r):
            out[:, :, i::r, j::r] = X[:, i * r + j :: r * r]
    return {"Out": out}


def case(shape: tuple[int, ...], factor: int) -> OpCase:
    return OpCase("pixel_shuffle", {"X": normal(*shape)}, pixel_shuffle, {"upscale_factor": factor})


CASES = [
    case((2, 4, 3, 5), 2),
    case((1, 18, 2, 3), 3),
    case((2, 3, 4, 5), 1),
    case((0, 4, 3, 2), 2),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(
    ("shape", "factor", "message"),
    [
        ((4, 3, 5), 2, r"X must have rank 4 \[N, C, H, W\], got \[4, 3, 5\]"),
        ((1, 4, 3, 5), 0, "upscale_factor must be at least 1 and at most 32768, got 0"),
        (
            (1, 6, 3, 5),
            2,
            r"the channels of X must be a multiple of upscale_factor\^2, got X \[1, 6, 3, 5\], "
            "upscale_factor 2",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(shape: tuple[int, ...], factor: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^pixel_shuffle: {message}$"):
        run_op("pixel_shuffle", {"X": normal(*shape)}, {"upscale_factor": factor})
