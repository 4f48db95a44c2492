"""The rounding of a gradient that has no float64 form to compare with."""

import numpy as np
import pytest
from targets import NumpyTarget, checked, normalized, normalized_vjp

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
