"""Gradients of 0 that rounding forbids to see exactly."""

import numpy as np
import pytest
from targets import FUNCTIONS, NumpyTarget, checked, normalized, normalized_vjp

from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(20).standard_normal((3, 4))
LOW = ("float32", "float16", "bfloat16")


def shifted(offset: float, claimed: float, scale: float, dtype: str) -> NumpyTarget:
    def vjp(x, v):
        return x.dtype.type(claimed) * v

    return NumpyTarget(lambda x: x + x.dtype.type(offset), vjp, [scale * X], dtype)


@pytest.mark.parametrize("dtype", ["float64", *LOW])
@pytest.mark.parametrize("offset", [1.0, 1e3, 1e5, 1e8])
def test_0_is_not_right_because_a_large_number_absorbs_the_step(offset: float, dtype: str) -> None:
    if dtype == "float16" and offset > 1e4:
        offset = 3e4
    for seed in range(4):
        for scale in (1e-6, 1e-3):
            (result,) = checked(shifted(offset, 0, scale, dtype), seed=seed, shadow="off").results
            assert result.verdict is not Verdict.PASS, (seed, scale)
            if result.verdict is Verdict.INCONCLUSIVE:
                assert Reason.ABSORPTION in result.reasons or Reason.NOISE in result.reasons
    (result,) = checked(shifted(1000, 0, 1e-6, "float32"), shadow="off").results
    assert result.reasons == (Reason.ABSORPTION,)
    assert result.detail == "12 of 12 cannot be judged: absorption"


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_right_gradients_of_0_pass_natively(dtype: str, scale: float) -> None:
    softmax, softmax_vjp, _ = FUNCTIONS["softmax"]
    undecided = 0  # f at 1e-3 rounds x + b, and sees a slope of 2e-6 of f over x only just
    for seed in range(10):
        random = np.random.default_rng(seed)
        x, b = random.standard_normal((6, 4)) * scale, random.standard_normal(4) * scale
        bias = NumpyTarget(normalized, normalized_vjp, [x, b], dtype)
        verdict = checked(bias, seed=seed, shadow="off").results[1].verdict
        assert verdict is not Verdict.FAIL
        undecided += verdict is Verdict.INCONCLUSIVE
        total = NumpyTarget(
            lambda x: softmax(x).sum(),
            lambda x, v: softmax_vjp(x, np.ones_like(x) * v),
            [x[:3]],
            dtype,
        )
        verdict = checked(total, seed=seed, shadow="off").verdict
        assert verdict is Verdict.PASS or (scale == 1e3 and verdict is Verdict.INCONCLUSIVE)
    assert undecided <= (dtype == "float32" and scale == 1e-3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_no_0_before_a_normalization_fails_natively(dtype: str) -> None:
    def vjp(x, b, v):
        dx, db = normalized_vjp(x, b, v)
        return dx, db + b.dtype.type(0.01)

    target = NumpyTarget(normalized, vjp, [np.tile(X, (2, 1)), X[0]], dtype)
    assert checked(target, shadow="off").results[1].verdict is Verdict.FAIL


@pytest.mark.parametrize("dtype", ["float64", *LOW])
def test_a_constant_has_the_gradient_0(dtype: str) -> None:
    constant = NumpyTarget(lambda x: 0 * x + x.dtype.type(3), lambda x, v: 0 * v, [X], dtype)
    assert checked(constant, shadow="off").verdict is Verdict.PASS
