"""Gradients that went through a narrower dtype, and right ones that have few digits anyway."""

import numpy as np
import pytest
from targets import NumpyTarget, checked

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(7).standard_normal(9)


def tanh_through(narrow: str, dtype: str) -> NumpyTarget:
    def vjp(x, v):
        right = v * (1 - np.tanh(x) ** 2)
        return right.astype(numpy_dtype(narrow)).astype(x.dtype) if x.dtype == dtype else right

    return NumpyTarget(np.tanh, vjp, [X], dtype)


@pytest.mark.parametrize(
    ("narrow", "dtype"),
    [("float16", "float32"), ("bfloat16", "float32"), ("float32", "float64")],
)
def test_a_gradient_that_goes_through_a_narrower_dtype_is_found(narrow: str, dtype: str) -> None:
    report = checked(tanh_through(narrow, dtype))
    (wrong,) = [one for one in report.results if one.verdict is Verdict.FAIL]
    assert wrong.dtype == dtype
    assert wrong.reasons[0] is Reason.NARROWED
    assert f"every element is a number of {narrow}" in wrong.detail


def test_a_right_gradient_has_the_digits_of_its_dtype() -> None:
    for dtype in ("float64", "float32"):
        assert checked(tanh_through(dtype, dtype)).verdict is Verdict.PASS


@pytest.mark.parametrize("seed", range(8))
def test_a_sum_of_saturated_tanhs_has_few_digits_and_is_right(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.choice([-1, 1], 6) * random.uniform(7, 8.5, 6)
    target = NumpyTarget(
        lambda x: np.tanh(x).sum(),
        lambda x, v: v * (1 - np.tanh(x) ** 2),
        [x],
        "float32",
        fixed_cotangent=True,
    )
    report = checked(target, seed=seed)
    assert report.verdict is not Verdict.FAIL
    assert not [audit for audit in report.audits if audit.verdict is Verdict.FAIL]
