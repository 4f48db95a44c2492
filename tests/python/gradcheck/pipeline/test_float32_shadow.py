"""Code in 16 bits that calculates in float32 inside, whatever it is given: judged in float32."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from fluidcore.gradcheck import GradCheckReport, Reason, Verdict, check

Array = Any
W = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
DTYPES = [np.float16, ml_dtypes.bfloat16]


def product(x: Array) -> Array:
    return (x.astype(np.float32) @ W).astype(x.dtype)


def product_vjp(x: Array, v: Array) -> Array:
    return (v.astype(np.float32) @ W.T).astype(x.dtype)


def root_mean_square(x: Array) -> Array:
    return np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(1e-6))


def norm(x: Array) -> Array:
    wide = x.astype(np.float32)
    return (wide / root_mean_square(wide)).astype(x.dtype)


def norm_vjp(x: Array, v: Array) -> Array:
    wide, g = x.astype(np.float32), v.astype(np.float32)
    size = root_mean_square(wide)
    along = np.mean(g * wide, axis=-1, keepdims=True) / size**2
    return ((g - wide * along) / size).astype(x.dtype)


FUNCTIONS = {"product": (product, product_vjp), "norm": (norm, norm_vjp)}


def report(name: str, dtype: Any, change: Callable[[Array], Array]) -> GradCheckReport:
    f, vjp = FUNCTIONS[name]
    x = np.random.default_rng(1).standard_normal((3, 5)).astype(dtype)
    return check(f, x, vjp=lambda x, v: change(vjp(x, v)), raise_exception=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_right_gradient_passes_formula_and_kernel_apart(name: str, dtype: Any) -> None:
    found = report(name, dtype, lambda a: a)
    assert found.verdict is Verdict.PASS
    assert [one.dtype for one in found.results] == ["float32", np.dtype(dtype).name]
    formula, kernel = found.results
    assert formula.num_passed == formula.num_elements
    assert formula.resolution < 0.01
    assert kernel.num_passed > kernel.num_elements / 2
    assert "x [3, 5] formula (float32) cpu" in str(found)
    assert f"x [3, 5] kernel ({np.dtype(dtype).name}) cpu" in str(found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("factor", [1.02, 1.5, 0])
def test_a_wrong_formula_fails_though_16_bits_could_not_show_it(
    name: str, dtype: Any, factor: float
) -> None:
    found = report(name, dtype, lambda a: (a.astype(np.float64) * factor).astype(a.dtype))
    assert found.verdict is Verdict.FAIL
    assert found.results[0].reasons == (Reason.MISMATCH,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_kernel_that_is_wrong_in_16_bits_alone_fails(name: str, dtype: Any) -> None:
    found = report(name, dtype, lambda a: a if a.dtype == np.float32 else -a)
    formula, kernel = found.results
    assert formula.verdict is Verdict.PASS
    assert (kernel.verdict, kernel.reasons) == (Verdict.FAIL, (Reason.KERNEL,))
