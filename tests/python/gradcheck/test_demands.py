"""What users of gradient checkers have complained about, one case each."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from targets import check

from fluidcore import core, eager
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck import (
    GradCheckConfig,
    GradCheckReport,
    GradientChecker,
    GradientError,
    Reason,
    Verdict,
    check_grad,
    get_numerical_gradient,
)

Array = Any
DTYPES = ["float64", "float32"]
RANDOM = np.random.default_rng(20)
X = RANDOM.standard_normal((3, 4))


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_vjp(x: Array, v: Array) -> Array:
    y = softmax(x)
    return y * (v - (v * y).sum(axis=-1, keepdims=True))


def layer_norm(x: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + x.dtype.type(1e-5))


def layer_norm_vjp(x: Array, v: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + x.dtype.type(1e-5))
    y = centred / scale
    return (v - v.mean(-1, keepdims=True) - y * (v * y).mean(-1, keepdims=True)) / scale


def unit(x: Array) -> Array:
    return x / np.sqrt((x * x).sum())


def unit_vjp(x: Array, v: Array) -> Array:
    y = unit(x)
    return (v - y * (v * y).sum()) / np.sqrt((x * x).sum())


def only(report: GradCheckReport, dtype: str = "float64") -> Any:
    (result,) = [result for result in report.results if result.dtype == dtype]
    return result


# False alarms in float32 and below.


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dot_product_passes_where_one_step_is_too_coarse(dtype: str) -> None:
    # Rounding of a single step dominates even for x·y in float32.
    x, y = (RANDOM.standard_normal(100).astype(dtype) for _ in range(2))
    assert check(lambda x, y: x @ y, x, y, vjp=lambda x, y, v: (v * y, v * x))


@pytest.mark.parametrize("dtype", [*DTYPES, "float16", "bfloat16"])
def test_pad_and_transpose_are_copies_and_pass(dtype: str) -> None:
    # Pure copies were refused with an error of 0.005153 over a limit of 0.005.
    x = X.astype(np.float32) if dtype == "bfloat16" else X.astype(dtype)
    for op, attrs in (("transpose", {"axis": [1, 0]}), ("assign", {})):
        desc = core.OpDesc(op, {"X": ["x"]}, {"Out": ["y"]}, attrs)
        config = GradCheckConfig(seed=5153)
        assert check_grad(desc, {"x": x}, ["x"], "y", config=config)
    assert check(lambda x: np.pad(x, 1), x, vjp=lambda x, v: v[1:-1, 1:-1].copy())


def test_every_element_is_compared_not_the_sum_of_the_outputs_alone() -> None:
    # Summing all outputs to one loss accumulates rounding, and lets errors cancel.
    x = RANDOM.standard_normal(1000).astype(np.float32)
    assert check(np.sin, x, vjp=lambda x, v: v * np.cos(x))
    swapped = check(np.sin, x, vjp=lambda x, v: np.roll(v * np.cos(x), 1))
    assert swapped.verdict is Verdict.FAIL


def test_dividing_float16_numbers_needs_no_tolerance_of_1() -> None:
    # The reference was inaccurate, not the kernel.
    x, y = (RANDOM.uniform(0.5, 2, 20).astype(np.float16) for _ in range(2))
    desc = core.OpDesc("elementwise_div", {"X": ["x"], "Y": ["y"]}, {"Out": ["z"]})
    report = check_grad(desc, {"x": x, "y": y}, ["x", "y"], "z")
    assert {result.dtype for result in report.results} == {"float64", "float16"}
    assert all(result.resolution < 0.05 for result in report.results)


def test_a_step_that_float16_cannot_take_is_refused_not_answered_with_zeros() -> None:
    # With a step of 1e-4 all numerical gradients of 16-bit numbers were 0.
    desc = core.OpDesc("square", {"X": ["x"]}, {"Out": ["y"]})
    with pytest.raises(core.InvalidArgument, match=r"delta must change .* take a larger delta"):
        get_numerical_gradient(desc, {"x": np.full(2, 0.5, np.float16)}, "y", "x", 1e-4)
    checker = GradientChecker(GradCheckConfig.plain())
    numerical = checker.compute_numerical_gradient(
        lambda x: (x * x).sum(), np.full(2, 0.5, np.float16)
    )
    np.testing.assert_allclose(numerical, [1, 1])


def test_sin_in_float32_passes_with_the_defaults() -> None:
    # A default tolerance of 1e-9 refused sin in float32.
    assert check(
        np.sin, RANDOM.standard_normal(9).astype(np.float32), vjp=lambda x, v: v * np.cos(x)
    )


def test_a_function_without_a_float64_form_is_judged_alone_and_says_so() -> None:
    # A kernel for float32 only: an artefact of float32 must be told from a wrong kernel.
    def kernel(x: Array) -> Array:
        return np.tanh(x.astype(np.float32))

    def right(x: Array, v: Array) -> Array:
        x = x.astype(np.float32)
        return v * (1 - np.tanh(x) ** 2)

    x = RANDOM.standard_normal(6).astype(np.float32)
    report = check(kernel, x, vjp=right)
    assert report
    assert "judged in float32 alone" in str(report)
    assert check(kernel, x, vjp=lambda x, v: right(x, v) / 2).verdict is Verdict.FAIL


def test_weights_of_zero_in_float32_do_not_absorb_the_step() -> None:
    # Where all weights are 0, the numerical derivative of a sum came out as 0.
    def loss(w: Array) -> Array:
        return np.tanh((w * np.float32(0.1)).sum() + np.float32(3))

    def gradient(w: Array, v: Array) -> Array:
        y = loss(w)
        return np.full_like(w, v * (1 - y * y) * np.float32(0.1))

    w = np.zeros(100, np.float32)
    assert check(loss, w, vjp=gradient)
    assert check(loss, w, vjp=lambda w, v: 0 * w).verdict is Verdict.FAIL


def test_the_rounding_of_a_kernel_at_zeros_is_no_fault() -> None:
    # At zeros all dithered points were one, and a rounding error looked like a fault.
    def saturated(x: Array) -> Array:
        return np.tanh(x.sum() + x.dtype.type(3))

    def gradient(x: Array, v: Array) -> Array:
        y = saturated(x)
        return v * (1 - y**2) * np.ones_like(x)

    assert check(saturated, np.zeros(100, np.float32), vjp=gradient)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_step_that_vanishes_in_a_larger_number_is_named_absorption(dtype: str) -> None:
    def absorbing(x: Array) -> Array:
        return (x + x.dtype.type(1e30)).sum()

    for claim in (1.0, 1e6):
        report = check(
            absorbing, np.ones(3, dtype), vjp=lambda x, v, c=claim: v * np.full_like(x, c)
        )
        assert report.verdict is Verdict.INCONCLUSIVE
        assert only(report).reasons == (Reason.ABSORPTION,)
    assert "make the other terms of the sum smaller" in str(report)


def test_an_offset_that_float64_holds_is_no_reason_to_leave_float64() -> None:
    x = np.ones(3, np.float32)
    report = check(lambda x: x.sum() + x.dtype.type(1e8), x, vjp=lambda x, v: v * np.ones_like(x))
    assert report
    assert {result.dtype for result in report.results} == {"float64", "float32"}


# Wrong gradients that pass elsewhere.


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gradient_twice_too_large_is_found_at_a_scale_of_1e_6(dtype: str) -> None:
    # An absolute tolerance of 1e-5 lets it pass.
    small = np.dtype(dtype).type(1e-6)
    report = check(
        lambda x: x.dtype.type(small) * np.sin(x),
        X.astype(dtype),
        vjp=lambda x, v: x.dtype.type(2 * small) * np.cos(x) * v,
    )
    assert only(report).reasons == (Reason.MISMATCH,)
    assert "A = 2 * G" in str(report)


def test_renorm_with_a_wrong_gradient_fails_in_directional_mode_too() -> None:
    # The gradient of renorm was completely wrong, and one random direction let it pass.
    def renorm(x: Array) -> Array:
        norms = np.sqrt((x * x).sum(axis=1, keepdims=True))
        return np.where(norms > 1, x / norms, x)

    def wrong(x: Array, v: Array) -> Array:
        norms = np.sqrt((x * x).sum(axis=1, keepdims=True))
        return np.where(norms > 1, v / norms, v)  # the norm is taken for a constant

    def right(x: Array, v: Array) -> Array:
        norms = np.sqrt((x * x).sum(axis=1, keepdims=True))
        y = x / norms
        return np.where(norms > 1, (v - y * (v * y).sum(1, keepdims=True)) / norms, v)

    for mode in ("full", "directional"):
        assert check(renorm, X, vjp=right, mode=mode)
        assert check(renorm, X, vjp=wrong, mode=mode).verdict is Verdict.FAIL


def test_the_limit_does_not_grow_with_the_number_of_outputs() -> None:
    # A tolerance that is scaled by the sizes of the directions is height times width too large.
    x = RANDOM.standard_normal((64, 64))

    def wrong(x: Array, v: Array) -> Array:
        return 1.0001 * 2 * x * v

    assert check(lambda x: x * x, x, vjp=wrong, mode="directional").verdict is Verdict.FAIL


@pytest.mark.parametrize("mode", ["full", "directional"])
def test_a_gradient_that_is_not_calculated_fails(mode: str) -> None:
    # Replacing the gradient by nothing still passed most tests.
    report = check(np.tanh, X, vjp=lambda x, v: np.zeros_like(x), mode=mode)
    assert report.verdict is Verdict.FAIL
    assert check(np.tanh, X, vjp=lambda x, v: None, mode=mode).verdict is Verdict.FAIL


def test_the_gradient_by_the_data_is_checked_beside_that_of_the_parameters() -> None:
    # A batch normalization was wrong in dX, and only its parameters had been looked at.
    report = check(
        lambda x, w: x * w, X, X + 1, vjp=lambda x, w, v: (np.zeros_like(x), v * x), name="scale"
    )
    verdicts = {result.name: result.verdict for result in report.results}
    assert verdicts == {"x": Verdict.FAIL, "w": Verdict.PASS}


@pytest.mark.parametrize(
    ("f", "right"), [(softmax, softmax_vjp), (layer_norm, layer_norm_vjp)], ids=["softmax", "norm"]
)
def test_cotangents_are_not_ones(f: Callable[..., Array], right: Callable[..., Array]) -> None:
    # For a cotangent of ones the gradient of a softmax or a normalization is 0, whatever the bug.
    ones = np.ones_like(X)
    assert np.abs(right(X, ones)).max() < 1e-12
    wrong = check(f, X, vjp=lambda x, v: 3 * right(x, v))
    assert wrong.verdict is Verdict.FAIL
    assert check(f, X, vjp=lambda x, v: right(x, ones)).verdict is Verdict.FAIL
    assert check(f, X, vjp=right)


@pytest.mark.parametrize("dtype", DTYPES)
def test_x_over_its_norm_passes_and_without_its_second_term_fails(dtype: str) -> None:
    # With a cotangent that equals x, the gradient is 0, right or wrong.
    x = X.astype(dtype)
    assert check(unit, x, vjp=unit_vjp)
    half = check(unit, x, vjp=lambda x, v: v / np.sqrt((x * x).sum()))
    assert half.verdict is Verdict.FAIL


def test_an_error_that_a_tolerance_of_2e_3_hides_is_found_and_a_pass_says_what_it_saw() -> None:
    # Errors of 4e-5 passed a gate of 2e-3, silently.
    def wrong(x: Array, v: Array) -> Array:
        return (1 + 4e-5) * np.cos(x) * v

    assert check(np.sin, X, vjp=wrong).verdict is Verdict.FAIL
    report = check(np.sin, X, vjp=lambda x, v: np.cos(x) * v)
    assert only(report).resolution < 1e-8
    assert f"an error of {only(report).resolution:.2g} would have been seen" in str(report)
    plain = check(np.sin, X, vjp=wrong, relative_tolerance=2e-3)
    assert plain
    assert only(plain).resolution == 2e-3


# Kinks, jumps, and the edge of a domain.


@pytest.mark.parametrize("dtype", [*DTYPES, "float16"])
@pytest.mark.parametrize(
    ("at_zero", "verdict"),
    [
        (0.0, Verdict.PASS),
        (0.5, Verdict.PASS),
        (1.0, Verdict.PASS),
        (1.5, Verdict.FAIL),
        (-0.25, Verdict.FAIL),
    ],
)
def test_relu_at_0_may_have_any_slope_between_0_and_1(
    at_zero: float, verdict: Verdict, dtype: str
) -> None:
    # What lies between the one-sided derivatives is a subgradient.
    def vjp(x: Array, v: Array) -> Array:
        return v * np.where(x == 0, x.dtype.type(at_zero), (x > 0).astype(x.dtype))

    assert check(relu, np.array([0.0, 1.0, -1.0], dtype), vjp=vjp).verdict is verdict


def test_abs_near_0_needs_no_edited_inputs() -> None:
    x = np.array([0.0, 1e-12, -1e-9, 1e-3])
    assert check(np.abs, x, vjp=lambda x, v: v * np.sign(x))


def test_ties_of_a_maximum_may_share_the_gradient_or_not() -> None:
    # A 4-way tie made a checker disagree: 1/4 against 1/2.
    def shared(x: Array, v: Array) -> Array:
        best = x == x.max()
        return v * best / best.sum()

    def first(x: Array, v: Array) -> Array:
        return v * (np.arange(x.size) == np.argmax(x))

    x = np.array([2.0, 2.0, 2.0, 2.0, 1.0])
    for right in (shared, first):
        assert check(lambda x: x.max(), x, vjp=right)
    wrong = check(lambda x: x.max(), x, vjp=lambda x, v: -shared(x, v))
    assert wrong.verdict is Verdict.FAIL
    assert " * G" not in str(wrong)  # no factor of 1e6 explains a difference to nearly nothing


def test_floor_at_an_integer_is_named_a_jump() -> None:
    report = check(np.floor, np.array([1.0, 2.0]), vjp=lambda x, v: 0 * v)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert only(report).reasons == (Reason.JUMP,)


def test_acos_is_judged_up_to_its_edge_and_not_beyond() -> None:
    # Outside of its domain differences and derivatives disagree.
    def vjp(x: Array, v: Array) -> Array:
        return -v / np.sqrt(1 - x * x)

    assert check(np.arccos, np.array([0.99999, -0.999, 0.5]), vjp=vjp)
    outside = check(np.arccos, np.array([0.5, 2.0]), vjp=vjp)
    assert only(outside).reasons == (Reason.DOMAIN,)
    assert "choose values inside its domain" in str(outside)
    at_edge = check(np.arccos, np.array([1.0, -1.0]), vjp=vjp)  # the derivative has no end
    assert only(at_edge).verdict is Verdict.INCONCLUSIVE
    assert only(at_edge).reasons == (Reason.DOMAIN,)
    no_number = check(np.arccos, np.array([1.0, -1.0]), vjp=lambda x, v: vjp(x, v) * np.nan)
    assert only(no_number).verdict is Verdict.FAIL
    assert only(no_number).reasons == (Reason.NON_FINITE,)


def test_an_element_at_the_edge_of_the_domain_is_not_counted_as_proven() -> None:
    def vjp(x: Array, v: Array) -> Array:
        return np.where(x > 0, v / 2 / np.sqrt(np.where(x > 0, x, 1)), 0)

    report = check(np.sqrt, np.array([0.0, 1.0, 2.0]), vjp=vjp)
    assert only(report).num_passed == 2
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "1 of 3 cannot be judged: domain" in str(report)


def test_a_nan_in_the_input_is_named() -> None:
    report = check(np.sin, np.array([1.0, np.nan]), vjp=lambda x, v: v * np.cos(x))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "the input 'x' is nan at element [1]" in str(report)


# The size of the step.


@pytest.mark.parametrize("factor", [1.0, 2.0])
@pytest.mark.parametrize(
    "f",
    [
        (np.array([1e10, 3e10]), 1.0),
        (np.array([0.3, 0.7]), 1e12),
    ],
    ids=["sin(1e10)", "sin(1e12 x)"],
)
def test_a_sine_of_many_periods_per_step_is_never_called_wrong(
    f: tuple[Array, float], factor: float
) -> None:
    # Steps that are powers of two apart see a smooth function by chance.
    x, rate = f
    for seed in range(5):
        report = check(
            lambda x: np.sin(rate * x),
            x,
            vjp=lambda x, v: factor * v * rate * np.cos(rate * x),
            seed=seed,
            name="sine",
        )
        assert report.verdict is Verdict.INCONCLUSIVE
        assert set(only(report).reasons) <= {Reason.KINK, Reason.JUMP, Reason.NOISE}


def test_inputs_of_very_different_sizes_need_no_step_of_their_own() -> None:
    # A step that is documented as relative, and applied as absolute, refused 400 of 400.
    x = np.array([1e-6, 1e-3, 1.0, 1e3, 1e6])
    for scale in (1e-100, 1e-6, 1e6, 1e100):
        assert check(lambda x: x * x, scale * x, vjp=lambda x, v: 2 * x * v)


def test_the_verdict_of_a_fixed_step_depends_on_the_step_and_that_of_error_bars_does_not() -> None:
    # Nobody could say whether an error is inevitable.
    def vjp(x: Array, v: Array) -> Array:
        return v * np.exp(x)

    verdicts = {
        epsilon: bool(check(np.exp, 3 * X, vjp=vjp, epsilon=epsilon, relative_tolerance=1e-7))
        for epsilon in (1e-1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-11)
    }
    assert verdicts[1e-5]
    assert not verdicts[1e-1]
    assert not verdicts[1e-11]
    assert check(np.exp, 3 * X, vjp=vjp)


# What does not repeat itself.


def test_a_dropout_without_a_fixed_seed_is_named_stochastic() -> None:
    # It failed with numbers like -8,101,425; that f is random was never said.
    generator = np.random.default_rng(1)

    def dropout(x: Array) -> Array:
        return x * (generator.random(x.shape) < 0.5)

    report = check(dropout, X, vjp=lambda x, v: v)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert only(report).reasons == (Reason.STOCHASTIC,)
    assert "fix the seed of everything random" in str(report)


def test_a_dropout_that_draws_from_the_global_generator_is_checked() -> None:
    def mask(x: Array) -> Array:
        return 2 * (np.random.random(x.shape) < 0.5)

    assert check(lambda x: x * mask(x), X, vjp=lambda x, v: v * mask(x))


def test_sums_in_any_order_are_noise_not_a_failure() -> None:
    # Atomics made "backward is not reentrant", and a tolerance had to be set by hand.
    generator = np.random.default_rng(1)

    def total(x: Array) -> Array:
        return np.add.reduce(generator.permutation((x**3).ravel()))

    report = check(total, X, vjp=lambda x, v: 3 * v * x * x)
    assert report
    assert check(total, X, vjp=lambda x, v: 4 * v * x * x).verdict is Verdict.FAIL


# Size.


def test_a_million_elements_take_no_jacobian() -> None:
    # The full Jacobian of a custom operator did not fit into memory.
    x = np.random.default_rng(0).standard_normal(1_000_000)
    report = check(lambda x: x * x, x, vjp=lambda x, v: 2 * x * v)
    assert report
    assert only(report).mode == "directional"
    assert only(report).num_forward < 500

    def wrong(x: Array, v: Array) -> Array:
        gradient = 2 * x * v
        gradient[777_777] *= 1.5
        return gradient

    found = only(check(lambda x: x * x, x, vjp=wrong))
    assert found.verdict is Verdict.FAIL
    assert [error.index for error in found.element_errors] == [777_777]
    assert found.num_forward < 1_000


# Messages.


def test_a_failure_says_which_element_both_values_and_how_far() -> None:
    # "gradcheck fails with a cryptic error", or just False.
    def wrong(x: Array, v: Array) -> Array:
        gradient = v * np.cos(x)
        gradient[2, 1] *= 1.1
        return gradient

    report = check(np.sin, X, vjp=wrong)
    text = str(report)
    assert len(text.splitlines()) <= 25
    assert "element [2, 1]" in text
    assert "A = 11/10 * G" in text
    assert only(report).element_errors[0].index == 9
    with pytest.raises(GradientError, match=r"\[2, 1\]"):
        report.assert_ok()


def test_a_bias_in_front_of_a_normalization_has_the_gradient_0() -> None:
    # Its differences are rounding, and looked like jumps.
    x = np.random.default_rng(0).standard_normal((3, 4))

    def normalized(b: Array) -> Array:
        y = x.astype(b.dtype) + b
        centred = y - y.mean(axis=0)
        return centred / np.sqrt((centred**2).mean(axis=0) + b.dtype.type(1e-5))

    def vjp(b: Array, v: Array) -> Array:
        y = x.astype(b.dtype) + b
        centred = y - y.mean(axis=0)
        scale = np.sqrt((centred**2).mean(axis=0) + b.dtype.type(1e-5))
        z = centred / scale
        return ((v - v.mean(0) - z * (v * z).mean(0)) / scale).sum(axis=0)

    for seed in range(8):
        b = np.random.default_rng(seed).standard_normal(4).astype(np.float32)
        assert check(normalized, b, vjp=vjp, seed=seed)
    shifted = check(normalized, b, vjp=lambda b, v: vjp(b, v) + b.dtype.type(1e-3))
    assert shifted.verdict is Verdict.FAIL


# What is the user's.


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_nothing_of_the_users_changes_whatever_is_raised(error: type[BaseException]) -> None:
    for last in (1, 2, 3, 5, 9, 20):
        x = X.copy()
        np.random.seed(3)
        random.seed(3)
        calls = 0

        def f(x: Array, last: int = last) -> Array:
            nonlocal calls
            calls += 1
            x *= np.random.random() + random.random()
            if calls >= last:
                raise error("stop")
            return x.copy()

        arrays, numbers = np.random.get_state()[1].copy(), random.getstate()
        with pytest.raises(error, match="stop"):
            check(f, x, vjp=lambda x, v: v)
        assert x.tobytes() == X.tobytes()
        assert np.array_equal(np.random.get_state()[1], arrays)
        assert random.getstate() == numbers


@pytest.mark.parametrize(
    "x",
    [
        np.array(0.5),
        np.float64(0.5),
        X.T[::2],
        X.astype(">f8"),
        X.astype(">f4"),
        np.zeros((0, 3)),
        np.array([5e-324, 1e-310]),
        np.array([1e-45, 1e-40], np.float32),
        np.array([1e300, -1e300]),
        np.broadcast_to(np.float64(2), (2, 3)),
    ],
    ids=lambda x: f"{x.dtype.str}{list(x.shape)}{'' if x.flags.c_contiguous else ' strided'}",
)
@pytest.mark.filterwarnings("error")
def test_arrays_of_every_kind_can_be_checked(x: Array) -> None:
    before = x.tobytes()
    assert check(lambda x: 3 * x, x, vjp=lambda x, v: 3 * v)
    assert x.tobytes() == before


def test_a_function_whose_output_does_not_depend_on_its_input_has_the_gradient_0() -> None:
    assert check(lambda x: np.ones(2), X, vjp=lambda x, v: np.zeros_like(x))
    wrong = check(lambda x: np.ones(2), X, vjp=lambda x, v: np.full_like(x, v.sum()))
    assert wrong.verdict is Verdict.FAIL
    assert check(lambda x: x[:0], X, vjp=lambda x, v: np.zeros_like(x))


@pytest.mark.parametrize(
    ("f", "vjp", "text"),
    [
        (lambda x: None, None, "must return a floating NumPy array, or a tuple of them, got None"),
        (lambda x: (), None, "must return a floating NumPy array"),
        (lambda x: x > 0, None, r"got bool \[3, 4\]"),
        (np.sin, lambda x, v: "v", "gradient by x must be a real NumPy array, got a value of type"),
        (np.sin, lambda x, v: [[1.0] * 1000], r"got \(\(a value .*\.\.\. 996 more\)\)"),
        (np.sin, 3, "vjp must be callable"),
    ],
)
def test_what_is_no_array_is_an_error(f: Any, vjp: Any, text: str) -> None:
    with pytest.raises((core.InvalidArgument, TypeError), match=text):
        check(f, X, vjp=vjp or (lambda x, v: v))


@pytest.mark.parametrize(
    ("gradient", "reason"),
    [
        (lambda x, v: v.T, Reason.WRONG_SHAPE),
        (lambda x, v: v.sum(), Reason.WRONG_SHAPE),
        (lambda x, v: v.astype(np.float32), Reason.WRONG_DTYPE),
        (lambda x, v: np.ones(x.shape, int), Reason.WRONG_DTYPE),
        (lambda x, v: v * np.nan, Reason.NON_FINITE),
    ],
)
def test_a_gradient_of_another_form_is_a_verdict(gradient: Any, reason: Reason) -> None:
    report = check(lambda x: x, X, vjp=gradient, name="same")
    assert report.verdict is Verdict.FAIL
    assert only(report).reasons == (reason,)
    if reason is not Reason.NON_FINITE:
        assert "nothing was compared" in str(report)


def test_a_given_gradient_must_be_real_numbers_of_the_shape_of_the_input() -> None:
    checker = GradientChecker()
    for gradient, text in (
        ("2x", "must be an array of real numbers, got str"),
        (np.array([2, 4j]), "must be an array of real numbers, got complex128"),
        (np.ones(3), r"must have the shape of the input, \[2\], got \[3\]"),
        (None, "there is no gradient; call backward"),
    ):
        with pytest.raises(core.InvalidArgument, match=text):
            checker.check_gradient(lambda x: (x * x).sum(), np.array([1.0, 2.0]), gradient, "sum")


@pytest.mark.parametrize("settings", [{}, {"epsilon": 1e-6}])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_a_given_gradient_of_a_smaller_dtype_is_a_verdict(settings: Any, dtype: str) -> None:
    checker = GradientChecker(GradCheckConfig(**settings))
    result = checker.check_gradient(np.sum, np.array([1.0, 2.0]), np.ones(2, dtype), "sum")
    assert (result.verdict, result.reasons) == (Verdict.FAIL, (Reason.WRONG_DTYPE,))
    assert result.detail.endswith(f"the dtype of the input, float64, got {dtype}")


def test_a_given_gradient_may_be_a_list_or_of_a_larger_dtype() -> None:
    checker = GradientChecker()
    assert checker.check_gradient(np.sum, np.array([1.0, 2.0]), [1, 1], "sum")
    assert checker.check_gradient(np.sum, np.ones(2, np.float32), np.ones(2), "sum")
    bfloat16 = np.ones(2, numpy_dtype("bfloat16"))
    wrong = checker.check_gradient(np.sum, np.ones(2, np.float16), bfloat16, "sum")
    assert wrong.reasons == (Reason.WRONG_DTYPE,)


def test_where_everything_is_left_out_nothing_is_proven() -> None:
    report = check(relu, np.zeros(3), vjp=lambda x, v: 7 * v, on_kink="skip")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert only(report).reasons == (Reason.NO_ELEMENTS,)


def test_a_pass_of_an_eager_tensor_says_what_it_saw() -> None:
    x = eager.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).backward()
    assert "would have been seen" in str(x.check_gradient(lambda x: x * x, "x_squared"))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"epsilon": "a"}, "epsilon must be a number, got str 'a'"),
        ({"epsilon": True}, "epsilon must be a number, got bool True"),
        ({"verbose": "no"}, "verbose must be True or False, got 'no'"),
        ({"probes": 2.5}, "probes must be an int, got 2.5"),
    ],
)
def test_settings_of_another_type_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        GradCheckConfig(**settings)
    assert GradCheckConfig(probes=np.int64(3)).probes == 3


def test_arguments_of_another_type_are_refused_in_words() -> None:
    op = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]})
    values = {"x": X}
    for arguments, text in (
        ((None, "y"), "inputs_to_check must be a list of names, got NoneType"),
        ((["x"], "y", "x"), "no_grad_set must be a list of names, got the str 'x'"),
        (([3], "y"), "a name in inputs_to_check must be a str, got int 3"),
    ):
        with pytest.raises(TypeError, match=text):
            check_grad(op, values, *arguments)
    wrong_config: Any = {"seed": 1}
    with pytest.raises(TypeError, match="config must be a GradCheckConfig, got dict"):
        check_grad(op, values, ["x"], "y", config=wrong_config)
    with pytest.raises(TypeError, match="config must be a GradCheckConfig, got dict"):
        check(np.tanh, X, vjp=lambda x, v: v, config=wrong_config)
    no_name: Any = None
    with pytest.raises(TypeError, match="input_to_check must be a str, got NoneType"):
        get_numerical_gradient(op, values, "y", no_name)
    with pytest.raises(core.InvalidArgument, match="cotangent must be an array of real numbers"):
        get_numerical_gradient(op, values, "y", "x", cotangent="ones")
    with pytest.raises(core.InvalidArgument, match="dtype must be floating, got int64"):
        get_numerical_gradient(op, values, "y", "x", dtype="int64")


def test_a_small_derivative_that_can_be_seen_is_not_taken_for_0() -> None:
    # The rule for a bias in front of a normalization must not hide the slope of 1 + 1e-9 x.
    for slope in (1e-3, 1e-6, 1e-9):

        def f(x: Array, slope: float = slope) -> Array:
            return 1 + slope * np.sin(x)

        assert check(f, X, vjp=lambda x, v, c=2 * slope: c * np.cos(x) * v).verdict is Verdict.FAIL
        right = check(f, X, vjp=lambda x, v, c=slope: c * np.cos(x) * v)
        assert right.verdict is not Verdict.FAIL


def test_the_check_of_a_given_gradient_keeps_the_generators_of_numpy_and_python() -> None:
    # The first runs of f, before the check itself, must not use up the user's random numbers.
    generators = np.random.get_state()[1].copy(), random.getstate()
    GradientChecker().check_gradient(
        lambda x: (x * x).sum() + 0 * np.random.random(), np.ones(2), np.full(2, 2.0), "sum"
    )
    assert np.array_equal(np.random.get_state()[1], generators[0])
    assert random.getstate() == generators[1]
