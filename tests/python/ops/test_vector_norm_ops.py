"""Norms of tensors and of their parts, against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, Doubles, away_from_zero, normal, positive
from op_runner import run_op


def l1_norm(X: Doubles) -> dict[str, Doubles]:
    return {"Out": np.abs(X).sum().reshape(1)}


def squared_l2_norm(X: Doubles) -> dict[str, Doubles]:
    return {"Out": (X**2).sum().reshape(1)}


def clip_by_norm(X: Doubles, max_norm: float) -> dict[str, Doubles]:
    length = np.sqrt((X**2).sum())
    return {"Out": X * max_norm / length if length > max_norm else X}


def norm(X: Doubles, Scale: Doubles, epsilon: float = 1e-10) -> dict[str, Doubles]:
    length = np.sqrt((X**2).sum(axis=1, keepdims=True) + epsilon)
    return {"Out": X / length * Scale.reshape(-1, *[1] * (X.ndim - 2))}


LARGE = (3, 16384 + 5)
CASES = [
    OpCase(name, {"X": away_from_zero(*shape)}, formula)
    for name, formula in (("l1_norm", l1_norm), ("squared_l2_norm", squared_l2_norm))
    for shape in SHAPES
]
CASES += [
    OpCase("clip_by_norm", {"X": normal(*shape)}, clip_by_norm, {"max_norm": limit})
    for shape in SHAPES
    for limit in (0.25, 100.0)
]
CASES += [
    OpCase("norm", {"X": normal(*shape), "Scale": positive(shape[1])}, norm, attrs)
    for shape in [(2, 3), (0, 3), (2, 3, 5), (2, 3, 4, 5), (1, 2, 7, 9), (2, 5, 1, 1), (17, 4)]
    for attrs in ({}, {"epsilon": 0.5})
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_several_blocks_are_right_and_the_same_on_two_threads(dtype: str) -> None:
    x = normal(*LARGE).astype(dtype)
    for name, formula in (("l1_norm", l1_norm), ("squared_l2_norm", squared_l2_norm)):
        one, two = (run_op(name, {"X": x}, threads=n)["Out"] for n in (1, 2))
        np.testing.assert_array_equal(one, two)
        expected = formula(x.astype(np.float64))["Out"]
        np.testing.assert_allclose(one, expected, rtol=1e-12 if dtype == "float64" else 1e-7)


def test_a_tensor_of_zeros_is_not_clipped_and_has_a_gradient() -> None:
    case = OpCase("clip_by_norm", {"X": np.zeros(4)}, clip_by_norm, {"max_norm": 1.0})
    check_outputs(case, "float64")
    check_gradient(case)


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "message"),
    [
        ("clip_by_norm", {"X": (3,)}, {"max_norm": 0.0}, "max_norm must be above 0, got 0.0"),
        ("clip_by_norm", {"X": (3,)}, {"max_norm": -1.0}, "max_norm must be above 0, got -1.0"),
        ("norm", {"X": (3,), "Scale": (3,)}, {}, r"X must have rank 2 or more, got \[3\]"),
        ("norm", {"X": (2, 3), "Scale": (2,)}, {}, r"Scale must have shape \[3\], got \[2\]"),
        (
            "norm",
            {"X": (2, 3), "Scale": (3,)},
            {"epsilon": -1.0},
            "epsilon must be at least 0, got -1.0",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(
    name: str, inputs: dict[str, tuple[int, ...]], attrs: dict[str, Any], message: str
) -> None:
    given = {slot: normal(*shape) for slot, shape in inputs.items()}
    with pytest.raises(ValueError, match=f"^{name}: {message}$"):
        run_op(name, given, attrs)
