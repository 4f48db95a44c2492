"""More of what users of gradient checkers have complained about; the rest is in test_demands."""

from __future__ import annotations

import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from targets import check

from fluidcore import core
from fluidcore.gradcheck import (
    GradCheckReport,
    GradientChecker,
    Reason,
    Verdict,
    check_grad,
    get_numerical_gradient,
)

Array = Any
RANDOM = np.random.default_rng(21)
X = RANDOM.standard_normal((4, 6))


def results(report: GradCheckReport, dtype: str) -> list[Any]:
    return [result for result in report.results if result.dtype == dtype]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("op", ["elementwise_max", "elementwise_mul", "elementwise_div"])
def test_low_precision_needs_no_step_and_no_tolerance_of_its_own(op: str, dtype: str) -> None:
    # bfloat16 needed a step of 0.05 chosen by hand, float32 products a tolerance of 0.5.
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    x, y = (RANDOM.uniform(0.5, 2.0, 20).astype(kind) for _ in range(2))
    report = GradientChecker().check_op(op, {"X": x, "Y": y})
    assert report
    limit = {"float32": 1e-4, "float16": 0.05, "bfloat16": 0.35}[dtype]
    assert all(result.resolution < limit for result in results(report, dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_linear_layer_in_float32_is_no_bug(dtype: str) -> None:
    # "Use double" was the answer to every report of a wrong gradient.
    w, b = RANDOM.standard_normal((3, 6)).astype(dtype), RANDOM.standard_normal(3).astype(dtype)

    def linear(x: Array, w: Array, b: Array) -> Array:
        return x @ w.T + b

    def vjp(x: Array, w: Array, b: Array, v: Array) -> tuple[Array, ...]:
        return v @ w, v.T @ x, v.sum(0)

    assert check(linear, X.astype(dtype), w, b, vjp=vjp)
    wrong = check(linear, X.astype(dtype), w, b, vjp=lambda *a: (*vjp(*a)[:2], a[3].mean(0)))
    assert {r.name: bool(r) for r in wrong.results if r.dtype == "float64"} == {
        "x": True,
        "w": True,
        "b": False,
    }


def group_norm(x: Array) -> Array:
    groups = x.reshape(len(x), 2, -1)
    centred = groups - groups.mean(-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(-1, keepdims=True) + x.dtype.type(1e-3))
    return (centred / scale).reshape(x.shape)


def group_norm_vjp(x: Array, v: Array) -> Array:
    groups, v = x.reshape(len(x), 2, -1), v.reshape(len(x), 2, -1)
    centred = groups - groups.mean(-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(-1, keepdims=True) + x.dtype.type(1e-3))
    y = centred / scale
    return ((v - v.mean(-1, keepdims=True) - y * (v * y).mean(-1, keepdims=True)) / scale).reshape(
        x.shape
    )


def test_group_norm_in_float16_is_not_flaky() -> None:
    # The numerical gradient ran in float16; a tolerance of 5.0 was needed elsewhere.
    for seed in range(4):
        x = np.random.default_rng(seed).standard_normal((4, 6)).astype(np.float16)
        assert check(group_norm, x, vjp=group_norm_vjp, seed=seed)
        twice = check(group_norm, x, vjp=lambda x, v: 2 * group_norm_vjp(x, v), seed=seed)
        assert twice.verdict is Verdict.FAIL


def test_the_reference_of_a_narrow_dtype_sees_exactly_the_same_point() -> None:
    # Numbers are made in the narrow dtype once, and widened for the reference.
    x = RANDOM.standard_normal(5).astype(np.float16)
    seen: list[Array] = []

    def square(x: Array) -> Array:
        if x.dtype == np.float64:
            seen.append(x.copy())
        return x * x

    assert check(square, x, vjp=lambda x, v: 2 * x * v)
    assert any(np.array_equal(point, x.astype(np.float64)) for point in seen)


@pytest.mark.parametrize("mode", ["full", "directional"])
def test_two_opposite_errors_do_not_cancel(mode: str) -> None:
    # Directions of +1 and -1 let them cancel with a probability of one half.
    def vjp(x: Array, v: Array) -> Array:
        gradient = v * np.cos(x)
        gradient[1, 2] += 1e-3
        gradient[3, 4] -= 1e-3
        return gradient

    for seed in range(10):
        assert check(np.sin, X, vjp=vjp, mode=mode, seed=seed).verdict is Verdict.FAIL


@pytest.mark.parametrize("mode", ["full", "directional"])
def test_a_tie_is_no_error_though_its_slopes_are_close(mode: str) -> None:
    # A detector of kinks missed a tie whose two directions were nearly the same.
    def leaky(x: Array) -> Array:
        return np.where(x > 0, x, 0.999 * x)

    def vjp(x: Array, v: Array) -> Array:
        return v * np.where(x > 0, 1.0, 0.999)

    x = X.copy()
    x[0, :3] = 0.0
    for seed in range(6):
        report = check(leaky, x, vjp=vjp, mode=mode, seed=seed)
        assert report.verdict is not Verdict.FAIL
        wrong = check(leaky, x, vjp=lambda x, v: 1.01 * vjp(x, v), mode=mode, seed=seed)
        assert wrong.verdict is Verdict.FAIL
    assert check(leaky, np.abs(x) + 0.1, vjp=lambda x, v: 0.999 * v).verdict is Verdict.FAIL


def test_max_pooling_at_a_tie_may_choose_any_of_the_largest() -> None:
    # Fuzzers report it as a bug of the framework.
    x = np.zeros((1, 1, 4, 4))
    x[0, 0, ::2, ::2] = 1.0
    x[0, 0, 1, 1] = 1.0  # a tie in the first window
    attrs = {"pooling_type": "max", "ksize": [2, 2], "strides": [2, 2], "paddings": [0, 0]}
    report = GradientChecker().check_op("pool2d", {"X": x}, attrs)
    assert report.verdict is not Verdict.FAIL
    assert any(result.kinks for result in report.results)


def test_a_step_never_leaves_the_domain_without_being_told() -> None:
    # One-sided differences gave NaN as the step.
    def vjp(x: Array, v: Array) -> Array:
        return v / x

    report = check(np.log, np.array([1e-300, 1e-12, 1e-3, 5.0]), vjp=vjp)
    assert report.verdict is not Verdict.FAIL
    assert all(np.isfinite(result.max_relative_error) for result in report.results)
    assert check(np.log, np.array([1e-12, 5.0]), vjp=lambda x, v: 2 * v / x).verdict is Verdict.FAIL


def test_every_output_of_a_function_gets_steps_of_its_own() -> None:
    # One step for a vector-valued function is wrong for some of its elements.
    def f(x: Array) -> Array:
        return np.stack([np.sin(1000 * x), 1e-8 * x**3, np.exp(x), 1e8 * x])

    def vjp(x: Array, v: Array) -> Array:
        slopes = [1000 * np.cos(1000 * x), 3e-8 * x * x, np.exp(x), np.full_like(x, 1e8)]
        return sum(a * b for a, b in zip(slopes, v, strict=True))

    assert check(f, X[0], vjp=vjp)

    def small(x: Array) -> Array:
        return 1e-8 * x**3

    assert check(small, X[0], vjp=lambda x, v: 3e-8 * x * x * v)
    assert check(small, X[0], vjp=lambda x, v: 3.01e-8 * x * x * v).verdict is Verdict.FAIL


def test_a_function_with_as_many_outputs_as_inputs_needs_no_matrix() -> None:
    # A Jacobian of 2048 by 2048 made others run out of memory.
    size = 640
    x = RANDOM.standard_normal(size)
    shift = np.arange(size) - 1
    tracemalloc.start()
    report = check(
        lambda x: np.sin(x) + x[shift],
        x,
        vjp=lambda x, v: v * np.cos(x) + np.roll(v, -1),
        mode="full",
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report
    assert report.results[0].mode == "full"
    assert peak < size * size * 8 / 4


def test_the_step_that_is_asked_for_is_the_one_that_is_taken() -> None:
    # An option for the step was ignored by one of the methods.
    op = core.OpDesc("square", {"X": ["x"]}, {"Out": ["y"]})
    cube = core.OpDesc("elementwise_pow", {"X": ["x"], "Y": ["p"]}, {"Out": ["y"]})
    x = np.array([1.0, 2.0])
    for delta in (0.5, 0.25, 0.125):
        np.testing.assert_array_equal(get_numerical_gradient(op, {"x": x}, "y", "x", delta), 2 * x)
        found = get_numerical_gradient(cube, {"x": x, "p": np.array([3.0, 3.0])}, "y", "x", delta)
        np.testing.assert_allclose(found, 3 * x * x + delta**2, rtol=1e-12)


def test_a_pass_of_check_grad_can_be_read() -> None:
    # "Is this error inevitable?" Nobody could read the verdict.
    op = core.OpDesc("softmax", {"X": ["x"]}, {"Out": ["y"]})
    report = check_grad(op, {"x": X}, ["x"], "y")
    first, line, *_ = str(report).splitlines()
    assert first == "PASS  softmax: 1 gradient right"
    assert "an error of" in line
    assert "would have been seen" in line


def test_a_reason_is_given_for_every_verdict_that_is_no_pass() -> None:
    # False without a reason, and which of several checks had failed, was asked for most often.
    x = np.array([0.5, 1.5])
    for report in (
        check(np.sin, x, vjp=lambda x, v: v),
        check(np.sin, x, vjp=lambda x, v: v * np.cos(x) + 1e-3),
        check(np.floor, np.array([1.0]), vjp=lambda x, v: 0 * v),
        check(lambda x: x * np.random.default_rng().random(2), x, vjp=lambda x, v: v),
        check(np.sin, x, vjp=lambda x, v: (v * np.cos(x)).astype(np.float32)),
    ):
        assert report.verdict is not Verdict.PASS
        told = [*(r for one in report.results for r in one.reasons)]
        told += [audit.reason for audit in report.audits if audit.reason]
        assert told
        assert all(isinstance(reason, Reason) for reason in told)
        assert any(reason.value in str(report) for reason in told)


@pytest.mark.parametrize("mode", ["full", "directional"])
@pytest.mark.parametrize("bend", [1e-3, 1e-4, 1e-7])
def test_a_kink_that_is_weak_beside_the_slope_accuses_nothing(bend: float, mode: str) -> None:
    # As of x + 1e-4 |x| at 0, or of a penalty |w| beside a large gradient.
    x = X.copy()
    x[0, :3] = 0.0

    def bent(x: Array) -> Array:
        return x + bend * np.maximum(x, 0)

    def vjp(x: Array, v: Array, at_zero: float) -> Array:
        return v * (1 + bend * np.where(x == 0, at_zero, x > 0))

    for seed in range(3):
        settings: dict[str, Any] = {"mode": mode, "seed": seed}
        for at_zero in (0.0, 0.25, 1.0):
            right = check(bent, x, vjp=lambda x, v, a=at_zero: vjp(x, v, a), **settings)
            assert right.verdict is not Verdict.FAIL
        outside = check(bent, x, vjp=lambda x, v: vjp(x, v, 40.0), **settings)
        assert outside.verdict is Verdict.FAIL
        forbidden = check(bent, x, vjp=lambda x, v: vjp(x, v, 0.0), on_kink="fail", **settings)
        assert forbidden.verdict is not Verdict.PASS
