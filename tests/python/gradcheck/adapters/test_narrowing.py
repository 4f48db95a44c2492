"""The dtype that a function calculates in, and whether it has a wider form."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from targets import check

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.adapters import callable_target
from fluidcore.gradcheck.verdict import Verdict

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
W = np.array([[0.5, -1.0], [0.25, 1.5], [2.0, -0.5]])


def cube_vjp(x: Any, v: Any) -> Any:
    return 3 * x**2 * v


def product_in_float32(x: Any) -> Any:
    return (x.astype(np.float32) @ W.astype(np.float32)).astype(x.dtype)


def product_in_float32_vjp(x: Any, v: Any) -> Any:
    return (v.astype(np.float32) @ W.T.astype(np.float32)).astype(x.dtype)


def test_what_calculates_in_float32_is_judged_as_float32_code_whatever_it_is_given() -> None:
    x = X + 1 / 3
    report = check(product_in_float32, x, vjp=product_in_float32_vjp)
    assert (report.verdict, report.results[0].dtype) == (Verdict.PASS, "float32")
    assert "judged in float32 alone: it calculates in float32, whatever" in str(report)

    def wrong(x: Any, v: Any) -> Any:
        assert x.dtype == np.float64  # as it was given
        return 1.02 * product_in_float32_vjp(x, v)

    assert check(product_in_float32, x, vjp=wrong).verdict is Verdict.FAIL


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_calculates_in_16_bits_is_judged_as_code_of_these(dtype: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16

    def tanh(x: Any) -> Any:
        return np.tanh(x.astype(kind)).astype(x.dtype)

    def vjp(x: Any, v: Any) -> Any:
        return (v.astype(kind) * (1 - np.tanh(x.astype(kind)) ** 2)).astype(x.dtype)

    x = X + 1 / 3
    report = check(tanh, x, vjp=vjp)
    assert (report.verdict, report.results[0].dtype) == (Verdict.PASS, dtype)
    assert f"judged in {dtype} alone: it calculates in {dtype}, whatever" in str(report)
    assert check(tanh, x, vjp=lambda x, v: -vjp(x, v)).verdict is Verdict.FAIL


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_calculates_in_16_bits_in_part_stands_on_treads_that_refute_nothing(
    dtype: str,
) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16

    def f(x: Any) -> Any:
        return x + np.tanh(x.astype(kind)).astype(x.dtype)

    def vjp(x: Any, v: Any) -> Any:
        return v * (2 - np.tanh(x) ** 2)

    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal((3, 6))
        assert check(f, x, vjp=vjp).verdict is Verdict.INCONCLUSIVE
        assert check(f, x, vjp=lambda x, v: -vjp(x, v)).verdict is Verdict.FAIL


def test_a_float64_function_whose_values_are_short_is_judged_in_float64() -> None:
    for f in (lambda x: 2 * x, np.sign, lambda x: np.round(x * 8) / 8, lambda x: x[:, :0]):
        target = callable_target(f, [X], vjp=lambda x, v: 2 * x)
        assert target.dtype == "float64"


def test_a_function_that_rounds_inside_has_no_float64_form() -> None:
    def single(x: Any) -> Any:
        return np.sin(x.astype(np.float32)).astype(x.dtype)

    def partly(x: Any) -> Any:
        return x * x + single(x)

    x = np.linspace(-1, 1, 7, dtype=np.float32)
    for f in (single, partly):
        target = callable_target(f, [x], vjp=cube_vjp)
        assert not target.has_shadow
        assert target.native_reason == "it rounds to a smaller dtype inside"
    returned = callable_target(lambda x: x.astype(np.float32), [x], vjp=cube_vjp)
    assert returned.native_reason == "it returns float32 for float64 arguments"
    # At its minimum the slope of a square is as small as its steps.
    assert callable_target(
        lambda x: (x - 1) ** 2, [np.ones(3, np.float32)], vjp=cube_vjp
    ).has_shadow


@pytest.mark.parametrize("size", [40, 4000])
@pytest.mark.parametrize("f", [np.floor, np.ceil, lambda x: x * np.floor(3 * x)])
def test_a_staircase_is_not_taken_for_rounding(f: Any, size: int) -> None:
    x = 3 * np.random.default_rng(0).standard_normal(size)
    for dtype in ("float64", "float32"):
        target = callable_target(f, [x.astype(dtype)], vjp=cube_vjp)
        assert (target.dtype, target.native_reason) == (dtype, "")


@pytest.mark.parametrize(
    ("dtype", "returned"),
    [("float64", "float32"), ("float64", "float16"), ("float32", "bfloat16")],
)
@pytest.mark.parametrize("size", [7, 4000])
def test_code_that_returns_fewer_digits_is_that_of_their_dtype(
    dtype: str, returned: str, size: int
) -> None:
    def f(x: Any) -> Any:
        return x * x, (2 * x).astype(numpy_dtype(returned))

    def vjp(x: Any, v: Any, w: Any) -> Any:
        return (2 * x * v + 2 * w.astype(x.dtype)).astype(x.dtype)

    x = np.linspace(0.5, 1.5, size).astype(dtype)
    target = callable_target(f, [x], vjp=vjp)
    assert (target.dtype, target.has_shadow) == (returned, False)
    assert target.native_reason == f"it returns {returned} for {dtype} arguments"
    wrong = check(f, x, vjp=lambda x, v, w: vjp(x, v, -w))
    right = check(f, x, vjp=vjp)
    verdicts = Verdict.PASS, Verdict.FAIL
    if (size, returned) == (4000, "bfloat16"):  # so many terms may round as much as that
        verdicts = Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE
    assert (right.verdict, wrong.verdict) == verdicts


@pytest.mark.parametrize(
    ("f", "slope", "dtype", "size"),
    [
        (lambda x: 1 - np.cos(x), np.sin, np.float32, 1e-5),
        (lambda x: np.log(1 + x), lambda x: 1 / (1 + x), np.float32, 1e-10),
        (lambda x: np.log(1 + x), lambda x: 1 / (1 + x), np.float16, 1e-4),
    ],
)
def test_digits_that_cancel_are_not_taken_for_a_narrower_dtype(
    f: Any, slope: Any, dtype: Any, size: float
) -> None:
    x = (np.linspace(0.5, 1.5, 7) * size).astype(dtype)
    report = check(f, x, vjp=lambda x, v: v * slope(x))
    assert report.verdict is Verdict.PASS
    assert [result.dtype for result in report.results] == ["float64", np.dtype(dtype).name]
    wrong = check(f, x, vjp=lambda x, v: 1.5 * v * slope(x))
    assert wrong.verdict is Verdict.FAIL


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_code_in_16_bits_that_calculates_in_float32_has_a_float32_form(dtype: Any) -> None:
    x = np.linspace(-1, 1, 7).astype(dtype)

    def single(x: Any) -> Any:
        return np.exp(x.astype(np.float32)).astype(x.dtype)

    target = callable_target(single, [x], vjp=lambda x, v: v * single(x))
    assert (target.has_shadow, target.shadow, target.native_reason) == (True, "float32", "")
    wide = callable_target(np.exp, [x], vjp=lambda x, v: v * np.exp(x))
    assert (wide.has_shadow, wide.shadow) == (True, "float64")
    half = callable_target(lambda x: np.exp(x.astype(dtype)).astype(x.dtype), [x], vjp=cube_vjp)
    assert (half.has_shadow, half.native_reason) == (False, "it rounds to a smaller dtype inside")
