"""The dtype under test against float64."""

import numpy as np
import pytest
from targets import FAULTS, FUNCTIONS, NumpyTarget, checked, target_of

from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(4).standard_normal((3, 4))


def kernel_only(name: str, dtype: str, fault, seed: int = 1) -> NumpyTarget:
    """A fault that the float64 form does not have."""
    target = target_of(name, dtype, seed)
    right = target.backward

    def vjp(*arguments):
        found = right(*arguments)
        if arguments[0].dtype == np.float64:
            return found
        return tuple(map(fault, found)) if isinstance(found, tuple) else fault(np.asarray(found))

    target.backward = vjp
    return target


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("fault", ["factor", "sign", "one percent", "zero"])
def test_a_fault_of_the_float32_kernel_alone_is_found(name: str, fault: str) -> None:
    report = checked(kernel_only(name, "float32", FAULTS[fault]), audits=False)
    formula = [one for one in report.results if one.dtype == "float64"]
    kernel = [one for one in report.results if one.dtype == "float32"]
    assert all(formula)
    assert all(one.reasons == (Reason.KERNEL,) for one in kernel)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_large_fault_of_a_16_bit_kernel_is_found(dtype: str) -> None:
    for name in FUNCTIONS:
        assert checked(kernel_only(name, dtype, FAULTS["factor"])).verdict is Verdict.FAIL


def test_less_than_a_rounding_is_not_found() -> None:
    def slightly(a):
        return (a.astype(float) * (1 + 1e-8)).astype(a.dtype)

    assert checked(kernel_only("tanh", "float32", slightly)).verdict is Verdict.PASS


def test_the_result_says_what_would_have_been_found() -> None:
    _, kernel = checked(target_of("tanh", "float32")).results
    assert 1e-7 < kernel.resolution < 1e-4
    assert kernel.resolution <= kernel.min_detectable_99


def test_a_saturated_tanh_is_no_fault() -> None:
    # 1 - tanh² keeps few digits there, and a dither of x does not change tanh by one ulp
    tanh, vjp, _ = FUNCTIONS["tanh"]
    for seed in range(20):
        x = np.append(np.random.default_rng(seed).uniform(4, 8, 10), 0.25)
        assert checked(NumpyTarget(tanh, vjp, [x], "float32"), seed=seed).verdict is Verdict.PASS


def test_a_little_less_precise_is_a_warning() -> None:
    def vjp(x, v):
        a = v * (1 - np.tanh(x) ** 2)
        if x.dtype == np.float32:
            a = (a.astype(float) * (1 + 1.5e-6)).astype(np.float32)
        return a

    _, kernel = checked(NumpyTarget(np.tanh, vjp, [np.tile(X, (3, 1))], "float32")).results
    assert kernel.verdict is Verdict.PASS
    assert kernel.reasons == (Reason.PRECISION_LOSS,)


def test_a_gradient_that_float16_cannot_hold_is_an_overflow() -> None:
    def f(x):
        return x * x.dtype.type(1000) * np.array([1, 100]).astype(x.dtype)

    target = NumpyTarget(
        f, lambda x, v: f(v), [np.array([0.25, 0.25])], "float16", fixed_cotangent=True
    )
    formula, kernel = checked(target).results
    assert formula.verdict is Verdict.PASS
    assert kernel.verdict is Verdict.INCONCLUSIVE
    assert kernel.reasons == (Reason.DOMAIN,)
    assert "overflow" in kernel.detail


def test_a_kernel_that_is_infinite_by_its_own_fault_fails() -> None:
    def vjp(x, v):
        return v * (x * x.dtype.type(3000) * x.dtype.type(3000) / x.dtype.type(9e6))

    target = NumpyTarget(lambda x: x * x / 2, vjp, [np.array([2.0, 3.0])], "float16")
    kernel = checked(target).results[1]
    assert kernel.verdict is Verdict.FAIL


def test_a_gradient_that_exists_only_at_the_point_is_judged_by_the_points_that_are_left() -> None:
    def vjp(x, v):
        if (x > 1).any():
            raise ValueError("outside")
        return v * 2 * x

    target = NumpyTarget(lambda x: x * x, vjp, [np.array([1.0, 0.5])], "float32")
    assert checked(target).verdict is not Verdict.FAIL


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_an_input_without_influence_passes(dtype: str) -> None:
    target = NumpyTarget(
        lambda x, y: x * 2, lambda x, y, v: (v * 2, np.zeros_like(y)), [X, X[0]], dtype
    )
    assert checked(target).verdict is Verdict.PASS
