"""Kernels of the second order that are wrong near a point where the second derivative is 0."""

import numpy as np
import pytest
from targets import check

from fluidcore.gradcheck.verdict import Reason, Verdict


def second(x, v, u):
    y = np.tanh(x)
    return -2 * u * v * y * (1 - y * y)


def wrong_kernel(x, v, u):
    found = second(x, v, u)
    if x.dtype != np.float64:
        found[3] *= x.dtype.type(1.5)
    return found


@pytest.mark.parametrize(
    ("dtype", "scale"), [("float32", 1e-2), ("float32", 1e-3), ("float16", 0.1), ("float16", 1e-2)]
)
def test_a_kernel_that_is_wrong_at_small_x_fails(dtype: str, scale: float) -> None:
    for seed in range(3):
        x = (scale * np.random.default_rng(seed).standard_normal(8)).astype(dtype)
        for second_vjp, accused in ((second, False), (wrong_kernel, True)):
            report = check(
                np.tanh,
                x,
                vjp=lambda x, v: v * (1 - np.tanh(x) ** 2),
                second_vjp=second_vjp,
                second_order=True,
                seed=seed,
            )
            assert (report.verdict is Verdict.FAIL) == accused
            if accused:
                (failed,) = (r for r in report.results if r.verdict is Verdict.FAIL)
                assert failed.reasons == (Reason.KERNEL,)
                assert failed.dtype == dtype
