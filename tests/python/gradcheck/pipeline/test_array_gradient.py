"""The verdict on a gradient that is just an array."""

from typing import Any

import numpy as np
import pytest
from targets import NumpyTarget

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.config import GradCheckConfig
from fluidcore.gradcheck.pipeline.array_gradient import judge_array
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.verdict import Reason, Verdict

X = np.random.default_rng(30).standard_normal((3, 4))
ONES = np.ones((3, 4))


def judged(
    f, claimed: Any, x=X, dtype: str = "float64", v=None, has_shadow=True, **settings
) -> GradCheckResult:
    target = NumpyTarget(f, lambda x, v: v, [x], dtype, has_shadow=has_shadow)
    gradient = np.asarray(claimed).astype(numpy_dtype(dtype))
    cotangent = np.ones(np.shape(x)) if v is None else v
    return judge_array(target, gradient, cotangent, "g", GradCheckConfig(**settings))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_right_gradient_passes_and_a_wrong_one_does_not(dtype: str) -> None:
    x = X.astype(numpy_dtype(dtype)).astype(np.float64)
    found = judged(np.sin, np.cos(x), dtype=dtype)
    assert (found.name, found.shape, found.dtype, found.mode) == ("g", (3, 4), dtype, "full")
    assert (found.verdict, found.reasons) == (Verdict.PASS, ())
    assert (found.num_elements, found.num_backward) == (12, 0)
    assert found.num_passed >= (12 if dtype in ("float64", "float32") else 11)
    assert found.min_detectable_99 == found.resolution
    assert found.num_forward > 12
    assert 0 < found.seconds < 60
    found = judged(np.sin, 2 * np.cos(x), dtype=dtype)
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.MISMATCH,))


def test_the_cotangent_weights_the_outputs() -> None:
    v = np.arange(12.0).reshape(3, 4) + 1
    assert judged(np.sin, v * np.cos(X), v=v).verdict is Verdict.PASS
    assert judged(np.sin, np.cos(X), v=v).verdict is Verdict.FAIL


def test_without_elements_nothing_is_wrong() -> None:
    found = judged(np.sin, X[:0], x=X[:0])
    assert found.verdict is Verdict.PASS
    assert found.num_elements == found.resolution == found.min_detectable_99 == 0


def test_one_output_that_is_not_finite_leaves_it_open() -> None:
    def f(x):
        return np.where(np.arange(12).reshape(3, 4) == 7, np.nan, x)

    found = judged(f, ONES)
    assert (found.verdict, found.reasons) == (Verdict.INCONCLUSIVE, (Reason.DOMAIN,))
    assert found.detail == "f is not finite at the point, in float64"


def test_one_element_that_is_not_finite_is_wrong() -> None:
    claimed = ONES.copy()
    claimed[1, 2] = np.inf
    found = judged(lambda x: x, claimed)
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.NON_FINITE,))
    assert found.num_passed == 11


def test_a_zero_where_f_does_not_depend_on_an_element_is_exact() -> None:
    mask = (np.arange(12) % 2).reshape(3, 4).astype(float)
    found = judged(lambda x: x * mask.astype(x.dtype), mask, dtype="float16")
    assert found.verdict is Verdict.PASS
    assert found.resolution < 21 * 2.0**-11  # rounding units of the others
    almost = np.where(mask == 0, 1e-4, mask)
    found = judged(lambda x: x * mask.astype(x.dtype), almost, dtype="float16")
    assert found.resolution > 25 * 2.0**-11


def test_a_value_that_agrees_by_chance_is_no_more_exact_than_another() -> None:
    function = core.CallableFunction(lambda xs: [np.sin(xs[0])], [X])
    claimed = np.array(core.differentiate(function, 0, [np.ones(12)]).value).reshape(3, 4)
    found = judged(np.sin, claimed)
    assert found.verdict is Verdict.PASS
    assert 1e-9 < found.resolution < 1e-6


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({}, 12),
        ({"n_full": 12}, 12),
        ({"n_full": 11}, 11),
        ({"n_full": 0}, 1),
        ({"subset": 5}, 5),
        ({"subset": 99}, 12),
        ({"n_full": 3, "subset": 5}, 5),
    ],
)
def test_of_many_elements_some_are_judged(settings, count: int) -> None:
    found = judged(np.sin, np.cos(X), verbose=True, **settings)
    assert found.verdict is Verdict.PASS
    assert found.num_elements == count
    elements = [error.index for error in found.element_errors or ()]
    assert len(set(elements)) == count
    assert set(elements) <= set(range(12))
    assert (found.min_detectable_99 == np.inf) == (count < 12)
    again = judged(np.sin, np.cos(X), verbose=True, **settings)
    assert [error.index for error in again.element_errors or ()] == elements


def test_a_wrong_element_is_found_only_where_it_is_looked_for() -> None:
    claimed = np.cos(X)
    claimed[1, 1] += 0.5
    found = {judged(np.sin, claimed, subset=6, seed=seed).verdict for seed in range(12)}
    assert found == {Verdict.PASS, Verdict.FAIL}
    (wrong,) = judged(np.sin, claimed).element_errors or ()
    assert wrong.index == 5


def test_the_resolution_may_be_demanded() -> None:
    assert judged(np.sin, np.cos(X), resolution=1e-7).verdict is Verdict.PASS
    assert judged(np.sin, np.cos(X), resolution=1e-10).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("on_kink", "verdict"), [("subgradient", "pass"), ("fail", "fail")])
def test_kinks_are_treated_as_asked_for(on_kink: str, verdict: str) -> None:
    x = np.where(X > 0, X, -1.0)
    x[0, 0] = 0.0
    claimed = np.where(x > 0, 1.0, 0.0)
    found = judged(lambda x: np.maximum(x, 0), claimed, x=x, on_kink=on_kink)
    assert found.verdict.value == verdict
    assert found.kinks == 1


def test_a_float32_function_without_another_form_is_differentiated_as_it_is() -> None:
    seen = set()

    def f(x):
        seen.add(x.dtype.name)
        return np.sin(x)

    x = X.astype(np.float32).astype(np.float64)
    assert judged(f, np.cos(x), dtype="float32").verdict is Verdict.PASS
    assert seen == {"float64"}
    for options in ({"shadow": "off"}, {"has_shadow": False}):
        seen.clear()
        assert judged(f, np.cos(x), dtype="float32", **options).verdict is not Verdict.FAIL
        assert seen == {"float32"}


def test_error_bars_allow_for_the_noise_inside_of_float32() -> None:
    def f(x):
        return np.sin(x) + x.dtype.type(30) - x.dtype.type(30)  # rounded where nobody sees it

    x = X.astype(np.float32)
    found = judged(
        f, np.cos(x), dtype="float32", shadow="off", verbose=True, resolution=1.0, seed=2**64 + 70
    )
    function = core.CallableFunction(lambda xs: [f(xs[0])], [x])
    noise = core.noise_floor(function, seed=70)[0].near
    assert noise.any()
    bars = np.array(core.differentiate(function, 0, [np.ones(12)], noise=noise).error)[0]
    errors = sorted(found.element_errors or (), key=lambda error: error.index)
    np.testing.assert_array_equal([error.error_bar for error in errors], bars)
