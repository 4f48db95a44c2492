"""Activations with kinks or jumps against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, away_from_zero, distinct, normal
from op_runner import run_op
from unary_cases import keeps_nan, of, reaches_its_limits


def clip(x: Any, low: float, high: float) -> Any:
    return np.clip(x, low, high)


def hard_sigmoid(x: Any, slope: float = 0.2, offset: float = 0.5) -> Any:
    return np.clip(slope * x + offset, 0, 1)


def hard_shrink(x: Any, threshold: float = 0.5) -> Any:
    return np.where(np.abs(x) > threshold, x, 0)


def softshrink(x: Any, limit: float = 0.5) -> Any:
    return np.sign(x) * np.maximum(np.abs(x) - limit, 0)


def thresholded_relu(x: Any, threshold: float = 1.0) -> Any:
    return np.where(x > threshold, x, 0)


FORMULAS: dict[str, tuple[Callable[..., Any], dict[str, float], list[dict[str, float]]]] = {
    "relu": (lambda x: np.maximum(x, 0), {}, []),
    "abs": (np.abs, {}, []),
    "clip": (clip, {"min": -0.5, "max": 0.7}, [{"min": -1.0, "max": np.inf}]),
    "brelu": (
        lambda x, t_min=0.0, t_max=24.0: np.clip(x, t_min, t_max),
        {},
        [{"t_min": -0.5, "t_max": 0.7}],
    ),
    "relu6": (lambda x, threshold=6.0: np.clip(x, 0, threshold), {}, [{"threshold": 0.7}]),
    "leaky_relu": (
        lambda x, alpha=0.02: np.maximum(x, alpha * x),
        {},
        [{"alpha": -0.5}, {"alpha": 0.0}, {"alpha": 1.0}],
    ),
    "hard_sigmoid": (hard_sigmoid, {}, [{"slope": -1.0, "offset": 0.25}]),
    "hard_shrink": (hard_shrink, {}, [{"threshold": 0.75}]),
    "softshrink": (softshrink, {}, [{"lambda": 0.75}, {"lambda": 0.0}]),
    "thresholded_relu": (thresholded_relu, {}, [{"threshold": -0.5}]),
}
CASES = [
    OpCase(name, {"X": away_from_zero(*shape)}, of(formula), attrs)
    for name, (formula, attrs, _) in FORMULAS.items()
    for shape in SHAPES
] + [
    OpCase(name, {"X": distinct(3, 17)}, of(formula), attrs, note="away from kinks")
    for name, (formula, _, choices) in FORMULAS.items()
    for attrs in choices
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@reaches_its_limits(
    ("relu", [-np.inf, np.inf], [0.0, np.inf]),
    ("brelu", [-np.inf, 0.0, 24.0, np.inf], [0.0, 0.0, 24.0, 24.0]),
    ("relu6", [-np.inf, 0.0, 6.0, np.inf], [0.0, 0.0, 6.0, 6.0]),
    ("leaky_relu", [-np.inf, 0.0, np.inf], [-np.inf, 0.0, np.inf]),
    ("hard_sigmoid", [-np.inf, 0.0, np.inf], [0.0, 0.5, 1.0]),
    ("hard_shrink", [-np.inf, -0.5, 0.0, 0.5, np.inf], [-np.inf, 0.0, 0.0, 0.0, np.inf]),
    ("softshrink", [-np.inf, -0.5, 0.0, 0.5, np.inf], [-np.inf, 0.0, 0.0, 0.0, np.inf]),
    ("thresholded_relu", [-np.inf, 1.0, np.inf], [0.0, 0.0, np.inf]),
)
def test_far_out_values_and_kinks_stay_exact(
    name: str, x: list[float], expected: list[float], dtype: str
) -> None:
    out = run_op(name, {"X": np.array(x, dtype=dtype)})["Out"]
    np.testing.assert_array_equal(out, np.array(expected, dtype=dtype))


@pytest.mark.parametrize("name", [name for name in FORMULAS if name != "clip"])
def test_nan_stays_nan(name: str) -> None:
    keeps_nan(name)


def test_clip_keeps_nan() -> None:
    x = np.array([np.nan, 5.0, -5.0], dtype=np.float32)
    out = run_op("clip", {"X": x}, {"min": -1.0, "max": 1.0})["Out"]
    np.testing.assert_array_equal(out, np.array([np.nan, 1, -1], dtype=np.float32))


@pytest.mark.parametrize(
    ("name", "slot", "at", "slope"),
    [
        ("relu", "Out", 0.0, 0.0),
        ("abs", "X", 0.0, 0.0),
        ("brelu", "X", 0.0, 0.0),
        ("brelu", "X", 24.0, 0.0),
        ("relu6", "X", 0.0, 0.0),
        ("relu6", "X", 6.0, 0.0),
        ("leaky_relu", "X", 0.0, 0.02),
        ("hard_sigmoid", "X", -2.5, 0.0),
        ("hard_sigmoid", "X", 2.5, 0.0),
        ("softshrink", "X", 0.5, 0.0),
        ("softshrink", "X", -0.5, 0.0),
    ],
)
def test_the_gradient_at_a_kink_is_that_of_the_flatter_side(
    name: str, slot: str, at: float, slope: float
) -> None:
    inputs = {slot: np.full(3, at), "Out@GRAD": np.ones(3)}
    grad = run_op(f"{name}_grad", inputs)["X@GRAD"]
    np.testing.assert_array_equal(grad, np.full(3, slope))


@pytest.mark.parametrize(
    ("name", "low", "high"), [("clip", "min", "max"), ("brelu", "t_min", "t_max")]
)
def test_limits_in_the_wrong_order_are_an_error(name: str, low: str, high: str) -> None:
    message = rf"{name}: {low} must be at most {high}, got {low} 1.0, {high} -1.0"
    with pytest.raises(ValueError, match=message):
        run_op(name, {"X": normal(3, 5)}, {low: 1.0, high: -1.0})


@pytest.mark.parametrize(
    ("name", "attr"),
    [("relu6", "threshold"), ("hard_shrink", "threshold"), ("softshrink", "lambda")],
)
@pytest.mark.parametrize("value", [-0.5, np.nan])
def test_a_threshold_below_zero_is_an_error(name: str, attr: str, value: float) -> None:
    message = rf"{name}: {attr} must be at least 0, got {value}"
    with pytest.raises(ValueError, match=message):
        run_op(name, {"X": normal(2)}, {attr: value})


def test_a_leak_above_one_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"leaky_relu: alpha must be at most 1, got 1\.5"):
        run_op("leaky_relu", {"X": normal(2)}, {"alpha": 1.5})


def test_whole_numbers_are_an_error() -> None:
    message = r"relu6: no kernel for int32 on cpu; it has: float16 on cpu, "
    with pytest.raises(ValueError, match=message):
        run_op("relu6", {"X": np.ones(2, dtype=np.int32)})
