"""The rounding of a gradient that has no float64 form to compare with."""

import numpy as np
import pytest
from targets import (
    NumpyTarget,
    checked,
    normalized,
    normalized_vjp,
    softmax_of_equal_numbers,
)

from fluidcore.gradcheck.verdict import Verdict


def test_terms_that_cancel_are_no_error_natively() -> None:
    random = np.random.default_rng(3)
    x, b = random.standard_normal((6, 4)), np.random.default_rng(103).standard_normal(4)
    target = NumpyTarget(normalized, normalized_vjp, [x, b], "bfloat16")
    for seed in range(5):
        results = checked(target, seed=seed, shadow="off").results
        assert all(result.verdict is not Verdict.FAIL for result in results)


@pytest.mark.parametrize(("dtype", "part"), [("float32", 0.01), ("float16", 0.5), ("bfloat16", 1)])
def test_an_error_that_is_the_same_at_every_point_stays_one(dtype: str, part: float) -> None:
    def vjp(x, v):
        return x.dtype.type(1 + part) * v * (1 - np.tanh(x) ** 2)

    x = np.random.default_rng(0).standard_normal((3, 4)) / 4
    for seed in range(5):
        target = NumpyTarget(np.tanh, vjp, [x], dtype)
        assert checked(target, seed=seed, shadow="off").verdict is Verdict.FAIL


@pytest.mark.parametrize("mode", ["full", "directional"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("factor", [1.0, 1e4, 1e6, 1e8, 1e10, 1e12])
def test_a_gradient_that_is_nothing_but_rounding_does_not_fail(factor, dtype, mode) -> None:
    for seed in range(6):
        target = softmax_of_equal_numbers(factor, dtype=dtype)
        assert checked(target, seed=seed, mode=mode).verdict is not Verdict.FAIL


@pytest.mark.parametrize("mode", ["full", "directional"])
def test_rounding_to_a_narrower_dtype_is_no_rounding_of_its_own(mode) -> None:
    x = np.random.default_rng(3).standard_normal(6)

    def vjp(x, v):
        return 2 * x * (v * x).astype(np.float32)

    report = checked(NumpyTarget(lambda x: x * x * x * (2 / 3), vjp, [x]), mode=mode, audits=False)
    assert report.verdict is Verdict.FAIL
