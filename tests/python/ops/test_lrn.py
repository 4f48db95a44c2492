"""Local response normalization against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op


def channel_window_sum(X: Doubles, before: int = 0, after: int = 0) -> dict[str, Doubles]:
    channels = range(X.shape[1])
    sums = [X[:, max(c - before, 0) : c + after + 1].sum(axis=1) for c in channels]
    return {"Out": np.stack(sums, axis=1)}


def lrn(
    X: Doubles, n: int = 5, k: float = 2.0, alpha: float = 1e-4, beta: float = 0.75
) -> dict[str, Doubles]:
    middle = k + alpha * channel_window_sum(X * X, (n - 1) // 2, n // 2)["Out"]
    return {"Out": X * middle**-beta, "MidOut": middle}


def case(shape: list[int], **attrs: Any) -> OpCase:
    return OpCase("lrn", {"X": normal(*shape)}, lrn, attrs)


def sums(shape: list[int], **attrs: int) -> OpCase:
    return OpCase("channel_window_sum", {"X": normal(*shape)}, channel_window_sum, attrs)


CASES = [
    case([1, 1, 1, 1]),
    case([2, 7, 2, 3]),
    case([2, 7, 2, 3], alpha=0.5),
    case([1, 6, 3, 2], n=4, alpha=0.7, beta=0.5, k=1.0),
    case([1, 5, 2, 2], n=1, alpha=1.0, beta=1.5),
    case([2, 3, 2, 2], n=9, alpha=0.3),
    case([0, 3, 2, 2]),
    case([2, 3, 0, 2]),
    sums([2, 7, 2, 3], before=1, after=2),
    sums([2, 3], before=5),
    sums([0, 3, 2], after=1),
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
        ([3, 4, 4], {}, r"X must have rank 4 \[N, C, H, W\], got \[3, 4, 4\]"),
        ([1, 1, 2, 2], {"n": 0}, "n must be at least 1, got 0"),
        ([1, 1, 2, 2], {"k": 0.0}, "k must be above 0, got 0"),
        ([1, 1, 2, 2], {"alpha": -1.0}, "alpha must be above 0, got -1"),
        ([1, 1, 2, 2], {"beta": 0.0}, "beta must be above 0, got 0"),
    ],
)
def test_a_normalization_of_other_images_or_attributes_is_an_error(
    shape: list[int], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"lrn: {message}"):
        run_op("lrn", {"X": normal(*shape)}, attrs)


@pytest.mark.parametrize(
    ("shape", "attrs", "message"),
    [
        ([3], {}, r"X must have rank 2 or more \[N, C, ...\], got \[3\]"),
        ([3, 4], {"before": -1}, "before must be at least 0, got -1"),
        ([3, 4], {"after": -2}, "after must be at least 0, got -2"),
    ],
)
def test_a_window_of_less_than_no_channels_is_an_error(
    shape: list[int], attrs: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=f"channel_window_sum: {message}"):
        run_op("channel_window_sum", {"X": normal(*shape)}, attrs)
