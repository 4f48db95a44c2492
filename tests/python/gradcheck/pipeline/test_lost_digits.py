"""Kernels that read values whose digits are lost, and kernels that are wrong."""

import numpy as np
import pytest
from targets import FUNCTIONS, NumpyTarget, checked

from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.verdict import Reason, Verdict


def saturated(name: str, seed: int, dtype: str = "float32") -> NumpyTarget:
    """Where all outputs are 1 or nearly so."""
    random = np.random.default_rng([3, seed])
    f, vjp, _ = FUNCTIONS["rnn" if name == "rnn" else "tanh"]
    if name == "rnn":
        inputs = [3 * random.standard_normal(shape) for shape in ((2, 3), (2, 4), (3, 4), (4, 4))]
    else:
        inputs = [random.choice([-1, 1], (3, 4)) * random.uniform(7, 20, (3, 4))]
    if name == "sigmoid":
        inputs = [2 * np.abs(inputs[0])]

        def f(x):
            return 1 / (1 + np.exp(-x))

        def vjp(x, v):
            return v * f(x) * (1 - f(x))

    return NumpyTarget(f, vjp, inputs, dtype, who=name)


@pytest.mark.parametrize(("name", "accused"), [("tanh", 0), ("sigmoid", 0), ("rnn", 2)])
def test_lost_digits_are_a_warning(name: str, accused: int) -> None:
    # cells stay wrong whose saturated unit shares every input and weight with one that is not
    warned, failed = 0, []
    for seed in range(12):
        report = checked(saturated(name, seed), seed=seed)
        reasons = [one.reasons for one in report.results if one.verdict is Verdict.PASS]
        warned += (Reason.PRECISION_LOSS,) in reasons
        if report.verdict is Verdict.FAIL:
            failed.append(seed)
    assert warned >= 6
    assert len(failed) <= accused, failed


def test_a_warning_says_what_would_not_have_been_seen() -> None:
    _, kernel = checked(saturated("tanh", 0)).results
    assert kernel.reasons == (Reason.PRECISION_LOSS,)
    assert kernel.resolution > 0.01


@pytest.mark.parametrize("factor", [-1.0, 0.5, 2.0, 1.01])
def test_a_wrong_kernel_beside_lost_digits_is_found(factor: float) -> None:
    target = saturated("tanh", 0)
    right = target.backward
    target.inputs[0].value.flat[3] = 0.5

    def vjp(x, v):
        a = right(x, v)
        if x.dtype == np.float32:
            a.flat[3] *= np.float32(factor)
        return a

    target.backward = vjp
    assert checked(target).results[1].reasons == (Reason.KERNEL,)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("size", [4, 400])
def test_a_fault_of_a_sum_of_many_terms_is_found(dtype: str, size: int) -> None:
    # an element can go far before the sum changes; but the kernel goes with it
    x = np.random.default_rng(size).uniform(1, 2, size)
    factor = 1 + 100 * UNIT[dtype]

    def vjp(x, v):
        a = v * 2 * x
        return a if x.dtype == np.float64 else (a.astype(float) * factor).astype(x.dtype)

    target = NumpyTarget(lambda x: (x * x).sum(), vjp, [x], dtype)
    assert checked(target).results[1].reasons == (Reason.KERNEL,)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(9,), (4, 4), (1,)])
def test_beyond_a_kink_a_wrong_kernel_may_be_right(dtype: str, shape: tuple[int, ...]) -> None:
    x = -np.abs(np.random.default_rng(len(shape)).standard_normal(shape))

    def vjp(x, v):
        return v * (x > 0).astype(x.dtype) if x.dtype == np.float64 else v

    target = NumpyTarget(lambda x: np.maximum(x, 0), vjp, [np.append(x, 1.5)], dtype)
    assert checked(target).results[1].reasons == (Reason.KERNEL,)
