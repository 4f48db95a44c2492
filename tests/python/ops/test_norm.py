"""batch_norm against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal, positive
from op_runner import run_op


def batch_norm(
    X: Doubles,
    Scale: Doubles,
    Bias: Doubles,
    Mean: Doubles,
    Variance: Doubles,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    data_layout: str = "NCHW",
    **_: Any,
) -> dict[str, Doubles]:
    channel = X.ndim - 1 if data_layout == "NHWC" else 1
    axes = tuple(d for d in range(X.ndim) if d != channel)
    shape = [-1 if d == channel else 1 for d in range(X.ndim)]
    mean, variance = (Mean, Variance) if is_test else (X.mean(axis=axes), X.var(axis=axes))
    scaled = (X - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon)
    outputs = {"Y": scaled * Scale.reshape(shape) + Bias.reshape(shape)}
    if is_test:
        return outputs
    return outputs | {
        "MeanOut": Mean * momentum + mean * (1 - momentum),
        "VarianceOut": Variance * momentum + variance * (1 - momentum),
        "SavedMean": mean,
        "SavedVariance": 1 / np.sqrt(variance + epsilon),
    }


def inputs(shape: tuple[int, ...], channels: int) -> dict[str, Any]:
    return {
        "X": 2 * normal(*shape) + 1,
        "Scale": positive(channels),
        "Bias": normal(channels),
        "Mean": normal(channels, seed=1),
        "Variance": positive(channels, seed=1),
    }


def case(
    shape: tuple[int, ...], note: str = "", in_place: dict[str, str] | None = None, **attrs: Any
) -> OpCase:
    return OpCase(
        "batch_norm",
        inputs(shape, shape[-1] if attrs.get("data_layout") == "NHWC" else shape[1]),
        batch_norm,
        attrs,
        note,
        grad=["X", "Scale", "Bias"],
        in_place=in_place or {},
    )


CASES = [
    case((5, 3)),
    case((17, 4)),
    case((4, 2, 5)),
    case((2, 3, 4, 5)),
    case((3, 1, 1, 1)),
    case((1, 2, 7, 9)),
    case((2, 3, 2, 2, 2)),
    case((4, 17, 1, 1)),
    case((2, 4, 5, 3), data_layout="NHWC"),
    case((2, 3, 4, 5), momentum=0.5, epsilon=1e-2),
    case((2, 3, 4, 5), is_test=True),
    case((0, 3, 4, 5), is_test=True),
    case(
        (2, 3, 4, 5),
        "statistics in place",
        in_place={"MeanOut": "Mean", "VarianceOut": "Variance"},
    ),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_mean_does_not_spoil_the_variance(dtype: str) -> None:
    given = inputs((16, 2, 9, 9), 2)
    given["X"] = given["X"] + 1000
    given = {slot: x.astype(dtype) for slot, x in given.items()}
    expected = batch_norm(**{slot: x.astype(np.float64) for slot, x in given.items()})["Y"]
    np.testing.assert_allclose(run_op("batch_norm", given)["Y"], expected, atol=2e-3)


def test_statistics_of_another_size_are_an_error() -> None:
    given = inputs((2, 3, 4, 5), 3) | {"Scale": positive(4)}
    with pytest.raises(ValueError, match=r"batch_norm: Scale must have shape \[3\], got \[4\]"):
        run_op("batch_norm", given)


def test_statistics_of_whole_numbers_are_an_error() -> None:
    given = inputs((2, 3, 4, 5), 3) | {"Scale": np.array([1, 2, 3])}
    message = r"batch_norm: Scale must be float64, got int64; write cast\(scale, 'float64'\)"
    with pytest.raises(ValueError, match=message):
        run_op("batch_norm", given)
