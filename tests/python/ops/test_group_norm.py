"""group_norm, instance_norm and group_mean against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal, positive
from op_runner import run_op


def group_norm(
    X: Doubles,
    Scale: Doubles | None = None,
    Bias: Doubles | None = None,
    groups: int = 1,
    epsilon: float = 1e-5,
    **_: Any,
) -> dict[str, Doubles]:
    x = X.reshape(X.shape[0], groups, -1 if X.size else 1)
    mean, variance = x.mean(axis=2), x.var(axis=2)
    y = (x - mean[..., None]) / np.sqrt(variance[..., None] + epsilon)
    channels = (-1,) + (1,) * (X.ndim - 2)
    y = y.reshape(X.shape) * (1.0 if Scale is None else Scale.reshape(channels))
    y = y + (0.0 if Bias is None else Bias.reshape(channels))
    return {"Y": y, "Mean": mean, "Variance": variance}


def instance_norm(X: Doubles, **given: Any) -> dict[str, Doubles]:
    return group_norm(X, groups=X.shape[1], **given)


def group_mean(X: Doubles, groups: int = 0) -> dict[str, Doubles]:
    x = X.reshape(X.shape[0], groups or X.shape[1], -1 if X.size else 1)
    return {"Out": (0 * x + x.mean(axis=2, keepdims=True)).reshape(X.shape)}


def case(shape: tuple[int, ...], slots: str = "Scale Bias", note: str = "", **attrs: Any) -> OpCase:
    factors = {"Scale": positive(shape[1]), "Bias": normal(shape[1], seed=1)}
    inputs = {"X": 2 * normal(*shape) + 1} | {slot: factors[slot] for slot in slots.split()}
    if "groups" in attrs:
        return OpCase("group_norm", inputs, group_norm, attrs, note)
    return OpCase("instance_norm", inputs, instance_norm, attrs, note)


CASES = [
    case((2, 6, 3, 5), groups=2),
    case((2, 6, 3, 5), groups=6),
    case((2, 6, 3, 5), "", "no factors", groups=3),
    case((2, 6, 3, 5), "Scale", "scale only", groups=3),
    case((2, 6, 3, 5), "Bias", "bias only", groups=3),
    case((3, 4, 67), groups=1, epsilon=0.25),
    case((3, 4, 2, 3, 2), groups=2),
    case((5, 8), groups=2, data_layout="AnyLayout"),
    case((70, 4), groups=1),
    case((2, 3, 1, 1), groups=1),
    case((0, 4, 3), groups=2),
    case((2, 3, 4, 5)),
    case((2, 3, 70), "", "no factors"),
    case((1, 2, 2, 3, 3), "Scale", "scale only", epsilon=0.25),
    case((0, 2, 3)),
    OpCase("group_mean", {"X": normal(2, 6, 3, 2)}, group_mean, {"groups": 3}),
    OpCase("group_mean", {"X": normal(2, 6, 3)}, group_mean),
    OpCase("group_mean", {"X": normal(3, 4)}, group_mean, {"groups": 1}),
    OpCase("group_mean", {"X": normal(0, 4)}, group_mean),
]
CASES += [
    OpCase("group_norm", CASES[0].inputs, group_norm, CASES[0].attrs, "in place", (), {"Y": "X"}),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_mean_does_not_spoil_the_group(dtype: str) -> None:
    x = (normal(2, 4, 65) + 1000).astype(dtype)
    expected = group_norm(x.astype(np.float64), groups=2)["Y"]
    np.testing.assert_allclose(
        run_op("group_norm", {"X": x}, {"groups": 2})["Y"], expected, atol=1e-6
    )


@pytest.mark.parametrize(
    ("op_type", "inputs", "attrs", "message"),
    [
        (
            "group_norm",
            {"X": (2,)},
            {"groups": 1},
            r"X must have rank 2 or more \[N, C, ...\], got \[2\]",
        ),
        ("group_norm", {"X": (2, 3)}, {"groups": 0}, "groups must be at least 1, got 0"),
        (
            "group_norm",
            {"X": (2, 3, 4)},
            {"groups": 2},
            r"the channels of X must be a multiple of groups, got X \[2, 3, 4\], groups 2",
        ),
        (
            "group_norm",
            {"X": (2, 4), "Scale": (2,)},
            {"groups": 2},
            r"Scale must have shape \[4\], got \[2\]",
        ),
        (
            "instance_norm",
            {"X": (2, 4, 3), "Bias": (3,)},
            {},
            r"Bias must have shape \[4\], got \[3\]",
        ),
        ("instance_norm", {"X": (2, 4)}, {"epsilon": -1.0}, "epsilon must be at least 0, got -1.0"),
        ("group_mean", {"X": (2, 4)}, {"groups": -1}, "groups must be at least 0, got -1"),
        (
            "group_mean",
            {"X": (2, 0)},
            {"groups": 2**62},
            rf"the channels of X must be a multiple of groups, got X \[2, 0\], groups {2**62}",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(
    op_type: str, inputs: dict[str, tuple[int, ...]], attrs: dict[str, Any], message: str
) -> None:
    given = {slot: normal(*shape) for slot, shape in inputs.items()}
    with pytest.raises(ValueError, match=f"^{op_type}: {message}$"):
        run_op(op_type, given, attrs)
