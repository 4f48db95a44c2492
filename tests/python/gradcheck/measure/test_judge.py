"""The verdict on an element from its error bar."""

import ml_dtypes
import numpy as np
import pytest
from judged import (
    ABSORBED,
    DOMAIN,
    JUMP,
    KINK,
    LATE,
    SUBGRADIENT,
    Judgement,
    Reference,
    has_kink,
    judge,
)

from fluidcore import core
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.target.precision import UNIT
from fluidcore.gradcheck.verdict import Reason, Verdict

RULES = core.Rules.of("float64", alone=False)


def reference(value, error=1e-12, low=None, high=None, flags=0):
    value = np.atleast_2d(np.asarray(value, dtype=float))
    low = value if low is None else np.atleast_2d(np.asarray(low, dtype=float))
    high = value if high is None else np.atleast_2d(np.asarray(high, dtype=float))
    flag = np.broadcast_to(np.uint8(flags), value.shape[1:]).copy()
    found = Reference(value, np.full_like(value, error), low, high, np.abs(value), flag)
    return Reference.of(found.native)


def verdict_of(found, claimed, rules=RULES) -> Judgement:
    claimed = np.atleast_2d(np.asarray(claimed, float))
    return judge(found, claimed, found.native.formula_tolerance(), rules)


def test_a_value_within_three_error_bars_passes() -> None:
    assert verdict_of(reference([1.0], error=1e-8), [1 + 2.9e-8]).verdict is Verdict.PASS


def test_a_value_outside_of_them_fails() -> None:
    assert verdict_of(reference([1.0], error=1e-8), [1 + 3.3e-8]).verdict is Verdict.FAIL


def test_the_last_digits_of_a_constant_are_no_error() -> None:
    assert verdict_of(reference([1.0], error=0), [1 + 0.9e-9]).verdict is Verdict.PASS


def test_a_large_error_bar_decides_nothing() -> None:
    found = verdict_of(reference([1.0], error=1e-3), [1.0])
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.doubts() == (Reason.NOISE,)


def test_a_large_error_bar_does_not_hide_a_larger_error() -> None:
    assert verdict_of(reference([1.0], error=1e-3), [2.0]).verdict is Verdict.FAIL


def test_every_element_of_a_formula_must_be_known() -> None:
    value = [1.0, 2.0, 3.0, 4.0]
    assert verdict_of(reference(value), value).verdict is Verdict.PASS
    for i in range(4):
        error = np.full((1, 4), 1e-12)
        error[0, i] = 1.0
        found = verdict_of(reference(value, error=error), value)
        assert found.verdict is Verdict.INCONCLUSIVE
        assert not found.is_proven


@pytest.mark.parametrize(
    ("allowed", "verdict"), [(0.29, Verdict.INCONCLUSIVE), (0.31, Verdict.PASS)]
)
def test_a_part_of_the_gradient_may_be_left_open(allowed: float, verdict: Verdict) -> None:
    value = [1.0, 2.0, 3.0, 4.0]
    found = reference(value, error=np.array([[1.0, 1.0, 1e-12, 1e-12]]))
    judged = verdict_of(found, value, core.Rules(allow_open=allowed))
    assert judged.verdict is verdict
    assert not judged.is_proven


@pytest.mark.parametrize(
    ("allowed", "verdict"), [(0.49, Verdict.INCONCLUSIVE), (0.51, Verdict.PASS)]
)
def test_what_is_open_weighs_what_is_claimed_if_that_is_more(
    allowed: float, verdict: Verdict
) -> None:
    found = reference([1.0, 3.0], error=np.array([[1.0, 1e-12]]))
    judged = verdict_of(found, [3.0, 3.0], core.Rules(allow_open=allowed))
    assert judged.verdict is verdict


def test_what_is_wrong_is_never_left_open() -> None:
    everything = core.Rules(allow_open=1.0)
    found = reference([1.0, 99.0], error=np.array([[1e-12, 99.0]]))
    assert verdict_of(found, [1.1, 99.0], everything).verdict is Verdict.FAIL
    assert verdict_of(found, [1.0, 99.0], everything).verdict is Verdict.PASS


def test_small_elements_are_compared_with_a_hundredth_of_the_largest() -> None:
    found = reference([1.0, 1e-9], error=1e-8)
    judged = verdict_of(found, [1.0, 1e-9])
    assert judged.verdict is Verdict.PASS
    assert judged.resolution[0, 1] == pytest.approx((3e-8 + 1e-11) / 0.01, rel=1e-3)


@pytest.mark.parametrize(
    ("claimed", "verdict"), [(-0.1, Verdict.FAIL), (0.4, Verdict.INCONCLUSIVE), (1.1, Verdict.FAIL)]
)
def test_at_a_kink_everything_outside_of_the_hull_is_wrong(
    claimed: float, verdict: Verdict
) -> None:
    found = reference([0.5], error=0, low=[0.0], high=[1.0], flags=KINK)
    assert verdict_of(found, [claimed]).verdict is verdict


@pytest.mark.parametrize(
    ("claimed", "verdict"),
    [
        (-0.1, Verdict.FAIL),
        (0.0, Verdict.PASS),
        (0.4, Verdict.PASS),
        (1.0, Verdict.PASS),
        (1.1, Verdict.FAIL),
    ],
)
def test_between_slopes_that_were_measured_from_both_sides_everything_is_right(
    claimed: float, verdict: Verdict
) -> None:
    found = reference([0.5], error=0, low=[0.0], high=[1.0], flags=KINK | SUBGRADIENT)
    assert verdict_of(found, [claimed]).verdict is verdict
    assert verdict_of(found, [claimed], core.Rules(on_kink="fail")).verdict is Verdict.FAIL
    skipped = verdict_of(found, [claimed], core.Rules(on_kink="skip"))
    assert skipped.counted.tolist() == [False]
    assert skipped.is_proven


def test_what_becomes_of_kinks_is_one_of_three() -> None:
    expected = "^gradcheck: on_kink must be subgradient, fail or skip, got both$"
    with pytest.raises(core.InvalidArgument, match=expected):
        core.Rules(on_kink="both")


def test_kinks_can_be_forbidden_or_left_out() -> None:
    found = reference([[0.5, 1.0]], error=0, low=[0.0, 1.0], high=[1.0, 1.0])
    found = Reference(*found.numbers, np.array([KINK, 0], np.uint8))
    strict = core.Rules(on_kink="fail")
    assert verdict_of(found, [0.5, 1.0], strict).verdict is Verdict.FAIL
    skipping = core.Rules(on_kink="skip")
    judged = verdict_of(found, [7.0, 1.0], skipping)
    assert judged.verdict is Verdict.PASS
    assert judged.counted.tolist() == [False, True]


@pytest.mark.parametrize(("flag", "reason"), [(JUMP, Reason.JUMP), (DOMAIN, Reason.DOMAIN)])
def test_where_there_is_no_derivative_nothing_is_wrong(flag: int, reason: Reason) -> None:
    judged = verdict_of(reference([1.0], flags=flag), [100.0])
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert judged.doubts() == (reason,)


def test_infinite_differences_decide_nothing() -> None:
    found = reference([np.inf], low=[-np.inf], high=[np.inf])
    assert verdict_of(found, [1.0]).verdict is Verdict.INCONCLUSIVE


def test_16_bit_alone_needs_five_error_bars() -> None:
    assert core.Rules.of("bfloat16", alone=True).bars == 5
    assert core.Rules.of("bfloat16", alone=False).bars == 3
    assert core.Rules.of("float32", alone=True).bars == 3


def test_the_resolution_of_the_user_counts() -> None:
    strict = core.Rules(resolution=1e-10)
    assert verdict_of(reference([1.0]), [1.0], strict).verdict is Verdict.INCONCLUSIVE


def test_rounding_of_a_dtype_alone_is_no_error() -> None:
    found = reference([1.0, 0.5], error=0)
    assert found.native.alone_tolerance("float32")[0].tolist() == pytest.approx(
        [16 * 2.0**-24, 8 * 2.0**-24], rel=1e-6
    )


def test_zero_elements_pass() -> None:
    assert verdict_of(reference(np.zeros((1, 0))), np.zeros((1, 0))).verdict is Verdict.PASS


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_the_unit_of_a_dtype_is_half_of_its_epsilon(dtype: str) -> None:
    assert UNIT[dtype] == float(ml_dtypes.finfo(numpy_dtype(dtype)).eps) / 2


@pytest.mark.parametrize(
    ("dtype", "beside", "alone"),
    [
        ("float64", 1e-5, 1e-5),
        ("float32", 1e-3, 6e-3),
        ("float16", 0.05, 0.3),
        ("bfloat16", 0.3, 1.0),
    ],
)
def test_a_pass_must_see_so_much_of_each_dtype(dtype: str, beside: float, alone: float) -> None:
    assert core.Rules.of(dtype, alone=False).resolution == beside
    assert core.Rules.of(dtype, alone=True).resolution == alone
    assert core.Rules(resolution=0.25).resolution == 0.25


@pytest.mark.parametrize(
    ("dtype", "beside", "alone"),
    [
        ("float64", 0.0, 0.0),
        ("float32", 0.5, 0.0),
        ("float16", 0.5, 0.5),
        ("bfloat16", 0.5, 0.5),
    ],
)
def test_a_pass_may_leave_so_much_open_of_each_dtype(
    dtype: str, beside: float, alone: float
) -> None:
    assert core.Rules.of(dtype, alone=False).allow_open == beside
    assert core.Rules.of(dtype, alone=True).allow_open == alone
    assert core.Rules(allow_open=0.25).allow_open == 0.25


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_kinks_are_no_error_in_any_dtype(dtype: str, alone: bool) -> None:
    found = reference([0.5], error=0, low=[0.0], high=[1.0], flags=KINK | SUBGRADIENT)
    assert verdict_of(found, [0.4], core.Rules.of(dtype, alone=alone)).verdict is Verdict.PASS


def rows(*values: list[float]) -> np.ndarray:
    return np.array(values, dtype=float)


def full_reference(**parts) -> Reference:
    """Two cotangents, three elements."""
    value = rows([1.0, 2.0, -4.0], [0.5, 0.0, 8.0])
    usual = {
        "value": value,
        "error": np.full((2, 3), 1e-9),
        "low": value,
        "high": value,
        "scale": np.abs(value),
        "flags": np.zeros(3, np.uint8),
    }
    return Reference(**{**usual, **parts})


def test_exact_values_have_no_error_bar() -> None:
    value, scale = rows([1.0, -2.0]), rows([3.0, 4.0])
    found = Reference.exact(value, scale)
    assert (found.error == 0).all()
    for part in (found.value, found.low, found.high):
        np.testing.assert_array_equal(part, value)
    np.testing.assert_array_equal(found.scale, scale)
    assert found.flags.tolist() == [0, 0]


def test_errors_are_compared_with_the_larger_side_or_a_hundredth_of_the_largest() -> None:
    found = full_reference(
        low=rows([-3.0, 1e-4, 0.0], [0.0, 0.0, 0.0]),
        high=rows([1.0, 2e-4, 4.0], [0.0, 0.0, 1e-4]),
        scale=rows([3.0, 1.0, 4.0], [7.0, 0.0, 0.5]),
    )
    np.testing.assert_allclose(found.measure, [[3.0, 0.04, 4.0], [0.07, 0.07, 0.07]])
    np.testing.assert_allclose(found.scale.max(1, keepdims=True), [[4.0], [7.0]])
    np.testing.assert_allclose(found.padded_scale, [[3.0, 1.0, 4.0], [7.0, 0.07, 0.5]])
    np.testing.assert_allclose(found.native.formula_tolerance(), 1e-9 * found.padded_scale)


@pytest.mark.parametrize("flag", [JUMP, DOMAIN])
def test_nothing_is_compared_with_an_element_without_a_derivative(flag: int) -> None:
    value = rows([1e6, 1.0, 0.0])
    found = Reference.exact(value, 2 * value)
    np.testing.assert_allclose(found.measure, [[1e6, 2e4, 2e4]])
    found = Reference(*found.numbers, np.array([flag, 0, 0], np.uint8))
    np.testing.assert_allclose(found.measure, [[0.02, 1.0, 0.02]])
    np.testing.assert_allclose(found.padded_scale, [[0.02, 2.0, 0.02]])
    infinite = rows([np.inf, 1.0, 0.0])
    found = Reference(value, 0 * value, -infinite, infinite, infinite, found.flags)
    np.testing.assert_allclose(found.measure, [[0.01, 1.0, 0.01]])


@pytest.mark.parametrize(
    ("dtype", "part"), [("float64", 1e-9), ("float32", 2.0**-20), ("bfloat16", 2.0**-4)]
)
def test_a_gradient_alone_is_rounded_by_its_terms_and_by_a_part_of_the_largest(
    dtype: str, part: float
) -> None:
    scale = rows([1.0, 0.0, 4.0])
    tiny = float(ml_dtypes.finfo(numpy_dtype(dtype)).smallest_normal)
    expected = part * np.maximum(scale, 0.04) + tiny
    found = Reference.exact(scale, scale).native.alone_tolerance(dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    nothing = Reference.exact(0 * scale, 0 * scale).native.alone_tolerance(dtype)
    np.testing.assert_allclose(nothing, tiny, rtol=1e-12)


def test_the_limit_is_error_bars_and_tolerance() -> None:
    found = full_reference(error=rows([1e-6, 0.0, 2e-6], [0.0, 1e-7, 0.0]))
    tolerance = rows([1e-7, 2e-7, 0.0], [0.0, 0.0, 3e-7])
    rules = core.Rules()
    judged = judge(found, found.value, tolerance, rules)
    np.testing.assert_allclose(judged.limit, 3 * found.error + tolerance, rtol=1e-12)
    np.testing.assert_allclose(judged.resolution, judged.limit / found.measure, rtol=1e-12)
    assert not judged.wrong.any()
    for sign in (1, -1):
        inside = judge(found, found.value + sign * 0.99 * judged.limit, tolerance, rules)
        outside = judge(found, found.value + sign * 1.01 * judged.limit, tolerance, rules)
        assert not inside.wrong.any()
        assert (outside.wrong == (judged.limit > 0)).all()
        np.testing.assert_allclose(outside.excess[judged.limit > 0], 1.01, rtol=1e-6)


def test_the_limit_may_be_as_large_as_the_resolution() -> None:
    rules = core.Rules(resolution=1e-3)
    one = rows([1.0])
    for error, tolerance, unsure in (
        (0.3e-3, 0.0, False),
        (0.0, 0.9e-3, False),
        (0.2e-3, 0.3e-3, False),
        (0.2e-3, 0.5e-3, True),
        (0.4e-3, 0.0, True),
        (0.0, 1.1e-3, True),
    ):
        found = Reference(one, error * one, one, one, one, np.zeros(1, np.uint8))
        assert judge(found, one, tolerance * one, rules).unsure.tolist() == [[unsure]]


def test_a_hull_that_is_wide_decides_nothing_inside() -> None:
    rules = core.Rules(resolution=1e-3)
    one, none = rows([1.0]), np.zeros(1, np.uint8)
    for width, unsure in ((0.9e-3, False), (1.1e-3, True)):
        found = Reference(one, 0 * one, one - width, one, one, none)
        assert judge(found, one, 0 * one, rules).unsure.tolist() == [[unsure]]


def test_what_is_wrong_is_not_unsure() -> None:
    found = full_reference(error=np.full((2, 3), 1.0))
    judged = judge(found, found.value + rows([0, 0, 90], [0, 0, 0]), np.zeros((2, 3)), RULES)
    assert judged.wrong.tolist() == [[False, False, True], [False] * 3]
    assert judged.unsure.tolist() == [[True, True, False], [True] * 3]
    assert [judged.of_element(i) for i in range(3)] == [
        Verdict.INCONCLUSIVE,
        Verdict.INCONCLUSIVE,
        Verdict.FAIL,
    ]


def test_an_element_passes_if_it_does_for_all_cotangents() -> None:
    found = full_reference(error=rows([1e-9, 1.0, 1e-9], [1e-9, 1e-9, 1e-9]))
    judged = judge(found, found.value, np.zeros((2, 3)), RULES)
    assert [judged.of_element(i) for i in range(3)] == [
        Verdict.PASS,
        Verdict.INCONCLUSIVE,
        Verdict.PASS,
    ]
    assert judged.verdict is Verdict.INCONCLUSIVE
    known = judge(full_reference(), found.value, np.zeros((2, 3)), RULES)
    assert [known.of_element(i) for i in range(3)] == [Verdict.PASS] * 3
    assert known.verdict is Verdict.PASS


def test_what_is_not_finite_decides_nothing() -> None:
    found = full_reference(error=rows([np.inf, 1e-9, 1e-9], [1e-9] * 3))
    claimed = found.value.copy()
    claimed[1, 2] = np.nan
    judged = judge(found, claimed, np.zeros((2, 3)), RULES)
    assert judged.unsure.tolist() == [[True, False, False], [False, False, True]]
    assert not judged.wrong.any()
    assert judged.resolution[0, 0] == np.inf
    assert np.isfinite(judged.excess).all()


@pytest.mark.parametrize("allowed", [0.0, 0.5])
@pytest.mark.parametrize("claimed", [np.inf, -np.inf, np.nan])
def test_a_claim_that_is_not_finite_is_not_proven(claimed: float, allowed: float) -> None:
    judged = verdict_of(reference([1.0]), [claimed], core.Rules(allow_open=allowed))
    assert judged.unsure.tolist() == [[True]]
    assert judged.verdict is Verdict.INCONCLUSIVE


def test_an_element_is_open_if_more_of_it_is_unsure_than_may_stay_open() -> None:
    value = rows([1.0, 1.0, 1.0], [3.0, 3.0, 0.5])
    error = rows([1.0, 0.0, 1.0], [0.0, 0.0, 1.0])
    found = Reference(value, error, value, value, np.abs(value), np.zeros(3, np.uint8))
    strict = judge(found, value, 0 * value, core.Rules(allow_open=0.0))
    assert strict.open.tolist() == [True, False, True]
    lenient = judge(found, value, 0 * value, core.Rules(allow_open=0.5))
    assert lenient.open.tolist() == [False, False, True]
    assert [lenient.of_element(i) for i in (0, 2)] == [Verdict.PASS, Verdict.INCONCLUSIVE]
    assert lenient.verdict is Verdict.PASS


def test_a_derivative_of_nothing_but_zeros_is_seen_exactly() -> None:
    zero = rows([0.0, 0.0])
    found = Reference.exact(zero, zero)
    judged = judge(found, zero, zero, RULES)
    assert judged.verdict is Verdict.PASS
    assert judged.resolution.tolist() == [[0.0, 0.0]]
    assert judge(found, zero + 1e-200, zero, RULES).wrong.all()


def test_the_nearest_right_value_is_on_the_hull() -> None:
    low, high = rows([0.0, 0.0, 0.0]), rows([1.0, 1.0, 1.0])
    flags = np.full(3, KINK, np.uint8)
    found = Reference(high / 2, 0 * low, low, high, high, flags)
    judged = judge(found, rows([-1.0, 0.25, 3.0]), np.full((1, 3), 0.5), RULES)
    assert judged.nearest.tolist() == [[0.0, 0.25, 1.0]]
    np.testing.assert_allclose(judged.excess, [[2.0, 0.0, 4.0]])
    assert judged.wrong.tolist() == [[True, False, True]]
    assert judged.at_kink.all()


@pytest.mark.parametrize("flag", [0, KINK, JUMP, DOMAIN, ABSORBED, LATE, KINK | DOMAIN])
def test_kinks_and_jumps_are_where_there_is_no_derivative(flag: int) -> None:
    assert has_kink(np.array([flag], np.uint8)).tolist() == [flag & (KINK | JUMP) != 0]


@pytest.mark.parametrize("on_kink", ["fail", "skip"])
def test_only_elements_at_a_kink_are_forbidden_or_left_out(on_kink) -> None:
    rules = core.Rules(on_kink=on_kink)
    found = full_reference(flags=np.array([KINK, JUMP, DOMAIN], np.uint8))
    judged = judge(found, found.value, np.zeros((2, 3)), rules)
    at_kink = [True, True, False]
    assert judged.wrong.tolist() == [at_kink if on_kink == "fail" else [False] * 3] * 2
    assert judged.counted.tolist() == [on_kink == "fail"] * 2 + [True]
    far = judge(found, found.value + 99, np.zeros((2, 3)), rules)
    assert far.wrong.tolist() == judged.wrong.tolist()
    assert far.unsure.tolist() == judged.unsure.tolist() == [[False, False, True]] * 2


@pytest.mark.parametrize(
    ("allowed", "verdict"), [(7.07, Verdict.INCONCLUSIVE), (7.09, Verdict.PASS)]
)
def test_what_is_open_is_summed_over_all_cotangents(allowed: float, verdict: Verdict) -> None:
    # of 1, 2, 4, and 0.5, 0.08 (a hundredth of the largest), 8
    found = full_reference(error=rows([1.0, 1.0, 1.0], [1e-12, 1.0, 1e-12]))
    rules = core.Rules(allow_open=allowed / 15.58)
    assert judge(found, found.value, np.zeros((2, 3)), rules).verdict is verdict


def test_elements_that_are_left_out_do_not_count_as_known() -> None:
    rules = core.Rules(on_kink="skip")
    error = rows([1e-12, 1e-12, 1.0], [1e-12, 1e-12, 1.0])
    found = full_reference(error=error, flags=np.array([KINK, KINK, 0], np.uint8))
    assert judge(found, found.value, np.zeros((2, 3)), rules).verdict is Verdict.INCONCLUSIVE


def test_the_most_frequent_doubt_comes_first() -> None:
    flags = [KINK, KINK, KINK, ABSORBED, DOMAIN, DOMAIN | KINK, 0, 0, 0, 0, LATE, KINK]
    value = np.ones((1, 12))
    known = np.array([[False] * 11 + [True]])
    error = np.where(known, 0.0, np.inf)
    found = Reference(value, error, value, value, value, np.array(flags, np.uint8))
    assert judge(found, value, 0 * value, RULES).doubts() == (
        Reason.NOISE,
        Reason.KINK,
        Reason.DOMAIN,
        Reason.BUDGET,
        Reason.ABSORPTION,
    )


def test_beside_nothing_almost_nothing_is_an_error() -> None:
    zero = rows([0.0, 0.0, 0.0])
    found = Reference.exact(zero, zero)
    judged = judge(found, rows([0.9e-300, -0.9e-300, 1.5e-300]), zero, RULES)
    assert judged.wrong.tolist() == [[False, False, True]]


def test_what_is_judged_beside_nothing_is_compared_with_the_least_number() -> None:
    one = rows([1e-320])
    for tolerance, unsure in ((0.9e-295, False), (1.1e-295, True)):
        found = Reference.exact(0 * one, 0 * one)
        judged = judge(found, one, rows([tolerance]), core.Rules())
        assert judged.unsure.tolist() == [[unsure]]
        assert judged.resolution[0, 0] == pytest.approx(tolerance / 1e-290)


@pytest.mark.parametrize("part", ["error", "low", "high", "analytical"])
def test_only_zeros_all_around_are_known_without_a_tolerance(part: str) -> None:
    zero = rows([0.0])
    parts = {"error": zero, "low": zero, "high": zero, "analytical": zero, part: rows([1e-310])}
    if part == "low":
        parts["low"] = rows([-1e-310])
    analytical = parts.pop("analytical")
    found = Reference(value=zero, scale=zero, flags=np.zeros(1, np.uint8), **parts)
    assert judge(found, analytical, rows([1.0]), RULES).unsure.tolist() == [[True]]
    found = Reference.exact(zero, zero)
    assert judge(found, zero, rows([1.0]), RULES).unsure.tolist() == [[False]]


@pytest.mark.parametrize("bits", [KINK | LATE, DOMAIN | LATE, JUMP | KINK, JUMP | DOMAIN])
def test_the_gravest_of_several_flags_is_the_doubt(bits: int) -> None:
    value = np.ones((1, 1))
    found = Reference(value, np.inf * value, value, value, value, np.array([bits], np.uint8))
    order = ((LATE, Reason.BUDGET), (DOMAIN, Reason.DOMAIN), (JUMP, Reason.JUMP))
    gravest = next(reason for bit, reason in order if bits & bit)
    assert judge(found, value, 0 * value, RULES).doubts() == (gravest,)


@pytest.mark.parametrize(
    ("allowed", "verdict"), [(0.39, Verdict.INCONCLUSIVE), (0.41, Verdict.PASS)]
)
def test_what_is_left_out_is_no_part_of_the_gradient(allowed: float, verdict: Verdict) -> None:
    rules = core.Rules(allow_open=allowed, on_kink="skip")
    flags = np.array([KINK, 0, 0], np.uint8)
    value = rows([1.0, 2.0, 3.0])
    found = Reference(value, rows([1.0, 1.0, 1e-12]), value, value, value, flags)
    assert judge(found, value, 0 * value, rules).verdict is verdict


def test_a_hull_is_wide_beside_what_it_is_compared_with() -> None:
    rules = core.Rules(resolution=1e-3)
    four, none = rows([4.0]), np.zeros(1, np.uint8)
    for width, unsure in ((0.9 * 4e-3, False), (1.1 * 4e-3, True)):
        found = Reference(four, 0 * four, four - width, four, four, none)
        assert judge(found, four, 0 * four, rules).unsure.tolist() == [[unsure]]
        found = Reference(four, 0 * four + width / 3, four, four, four, none)
        assert judge(found, four, 0 * four, rules).unsure.tolist() == [[unsure]]


def test_without_limits_the_farthest_is_the_worst() -> None:
    nothing = np.zeros((3, 1))
    found = verdict_of(Reference.exact(nothing, nothing), np.array([[1.0], [3.0], [2.0]]))
    assert found.wrong.all()
    assert not found.limit.any()
    assert found.worst[0].tolist() == [1]
    assert np.argsort(found.excess[:, 0]).tolist() == [0, 2, 1]
