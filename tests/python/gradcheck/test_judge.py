"""The verdict on an element from its error bar."""

import ml_dtypes
import numpy as np
import pytest

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.judge import (
    ABSORBED,
    DOMAIN,
    JUMP,
    KINK,
    LARGEST,
    LATE,
    TINY,
    UNIT,
    Judgement,
    Reference,
    Rules,
    alone_tolerance,
    formula_tolerance,
    has_kink,
    judge,
    most,
    padded,
)
from fluidcore.gradcheck.verdict import Reason, Verdict

RULES = Rules.of("float64", alone=False)


def reference(value, error=1e-12, low=None, high=None, flags=0):
    value = np.atleast_2d(np.asarray(value, dtype=float))
    low = value if low is None else np.atleast_2d(np.asarray(low, dtype=float))
    high = value if high is None else np.atleast_2d(np.asarray(high, dtype=float))
    flag = np.broadcast_to(np.uint8(flags), value.shape[1:]).copy()
    found = Reference(value, np.full_like(value, error), low, high, np.abs(value), flag)
    return Reference.of(found)


def verdict_of(found, claimed, rules=RULES) -> Judgement:
    return judge(found, np.atleast_2d(np.asarray(claimed, float)), formula_tolerance(found), rules)


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


def test_half_of_the_elements_may_be_unknown() -> None:
    error = np.array([[1e-12, 1e-12, 1.0, 1.0]])
    found = reference([1.0, 2.0, 3.0, 4.0], error=error)
    assert verdict_of(found, [1.0, 2.0, 3.0, 4.0]).verdict is Verdict.PASS
    found = reference([1.0, 2.0, 3.0, 4.0], error=np.array([[1e-12, 1.0, 1.0, 1.0]]))
    assert verdict_of(found, [1.0, 2.0, 3.0, 4.0]).verdict is Verdict.INCONCLUSIVE


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


def test_kinks_can_be_forbidden_or_left_out() -> None:
    found = reference([[0.5, 1.0]], error=0, low=[0.0, 1.0], high=[1.0, 1.0])
    found = Reference(*found.numbers, np.array([KINK, 0], np.uint8))
    strict = Rules.of("float64", alone=False, on_kink="fail")
    assert verdict_of(found, [0.5, 1.0], strict).verdict is Verdict.FAIL
    skipping = Rules.of("float64", alone=False, on_kink="skip")
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
    assert Rules.of("bfloat16", alone=True).bars == 5
    assert Rules.of("bfloat16", alone=False).bars == 3
    assert Rules.of("float32", alone=True).bars == 3


def test_the_resolution_of_the_user_counts() -> None:
    strict = Rules.of("float64", alone=False, resolution=1e-10)
    assert verdict_of(reference([1.0]), [1.0], strict).verdict is Verdict.INCONCLUSIVE


def test_rounding_of_a_dtype_alone_is_no_error() -> None:
    found = reference([1.0, 0.5], error=0)
    assert alone_tolerance(found, "float32")[0].tolist() == pytest.approx(
        [16 * 2.0**-24, 8 * 2.0**-24], rel=1e-6
    )


def test_zero_elements_pass() -> None:
    assert verdict_of(reference(np.zeros((1, 0))), np.zeros((1, 0))).verdict is Verdict.PASS


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_the_limits_of_a_dtype_are_its_own(dtype: str) -> None:
    limits = ml_dtypes.finfo(numpy_dtype(dtype))
    assert UNIT[dtype] == float(limits.eps) / 2
    assert TINY[dtype] == pytest.approx(float(limits.tiny), rel=0.05, abs=0)
    assert LARGEST[dtype] == pytest.approx(float(limits.max), rel=0.06)
    assert LARGEST[dtype] <= float(limits.max)


@pytest.mark.parametrize(
    ("dtype", "beside", "alone"),
    [
        ("float64", 1e-5, 1e-5),
        ("float32", 1e-3, 2e-3),
        ("float16", 0.05, 0.1),
        ("bfloat16", 0.3, 0.3),
    ],
)
def test_a_pass_must_see_so_much_of_each_dtype(dtype: str, beside: float, alone: float) -> None:
    assert Rules.of(dtype, alone=False).resolution == beside
    assert Rules.of(dtype, alone=True).resolution == alone
    assert Rules.of(dtype, alone=False, resolution=0.25).resolution == 0.25
    assert Rules.of(dtype, alone=False).on_kink == "subgradient"


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


@pytest.mark.parametrize(
    ("flag", "unknown"), [(KINK, False), (JUMP, True), (DOMAIN, True), (ABSORBED, False)]
)
def test_what_the_engine_found_is_unknown_at_jumps_and_edges(flag: int, unknown: bool) -> None:
    found = Reference.of(full_reference(flags=np.array([0, flag, 0], np.uint8)))
    assert np.isinf(found.error).tolist() == [[False, unknown, False]] * 2
    assert found.error[0, 0] == 1e-9


def test_references_are_joined_and_split_by_elements() -> None:
    first = full_reference()
    second = full_reference(low=-np.ones((2, 3)), flags=np.array([1, 2, 4], np.uint8))
    both = Reference.joined([first, second])
    for part, a, b in zip(both.numbers, first.numbers, second.numbers, strict=True):
        np.testing.assert_array_equal(part, np.hstack([a, b]))
    assert both.flags.tolist() == [0, 0, 0, 1, 2, 4]
    one = both.only(4)
    for part, whole in zip(one.numbers, both.numbers, strict=True):
        np.testing.assert_array_equal(part, whole[:, 4:5])
    assert one.flags.tolist() == [2]


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
    np.testing.assert_allclose(most(found.scale), [[4.0], [7.0]])
    np.testing.assert_allclose(padded(found.scale), [[3.0, 1.0, 4.0], [7.0, 0.07, 0.5]])
    np.testing.assert_allclose(formula_tolerance(found), 1e-9 * padded(found.scale))


@pytest.mark.parametrize(
    ("dtype", "part"), [("float64", 1e-9), ("float32", 2.0**-20), ("bfloat16", 2.0**-4)]
)
def test_a_gradient_alone_is_rounded_by_its_terms_and_by_a_part_of_the_largest(
    dtype: str, part: float
) -> None:
    scale = rows([1.0, 0.0, 4.0])
    expected = part * np.maximum(scale, 0.04) + TINY[dtype]
    found = alone_tolerance(Reference.exact(scale, scale), dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    nothing = alone_tolerance(Reference.exact(0 * scale, 0 * scale), dtype)
    np.testing.assert_allclose(nothing, TINY[dtype])


def test_the_limit_is_error_bars_and_tolerance() -> None:
    found = full_reference(error=rows([1e-6, 0.0, 2e-6], [0.0, 1e-7, 0.0]))
    tolerance = rows([1e-7, 2e-7, 0.0], [0.0, 0.0, 3e-7])
    rules = Rules(bars=3.0, resolution=1e-5)
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


def test_an_error_bar_may_be_as_large_as_the_resolution() -> None:
    rules = Rules(bars=3.0, resolution=1e-3)
    one = rows([1.0])
    for error, tolerance, unsure in (
        (0.9e-3, 0.0, False),
        (0.0, 0.9e-3, False),
        (0.6e-3, 0.6e-3, True),
        (1.1e-3, 0.0, True),
        (0.0, 1.1e-3, True),
    ):
        found = Reference(one, error * one, one, one, one, np.zeros(1, np.uint8))
        assert judge(found, one, tolerance * one, rules).unsure.tolist() == [[unsure]]


def test_a_hull_that_is_wide_decides_nothing_inside() -> None:
    rules = Rules(bars=3.0, resolution=1e-3)
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
    assert judged.verdict is Verdict.PASS


def test_what_is_not_finite_decides_nothing() -> None:
    found = full_reference(error=rows([np.inf, 1e-9, 1e-9], [1e-9] * 3))
    claimed = found.value.copy()
    claimed[1, 2] = np.nan
    judged = judge(found, claimed, np.zeros((2, 3)), RULES)
    assert judged.unsure.tolist() == [[True, False, False], [False, False, True]]
    assert not judged.wrong.any()
    assert judged.resolution[0, 0] == np.inf
    assert np.isfinite(judged.excess).all()


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
    rules = Rules(3.0, 1e-5, on_kink)
    found = full_reference(flags=np.array([KINK, JUMP, DOMAIN], np.uint8))
    judged = judge(found, found.value, np.zeros((2, 3)), rules)
    at_kink = [True, True, False]
    assert judged.wrong.tolist() == [at_kink if on_kink == "fail" else [False] * 3] * 2
    assert judged.counted.tolist() == [on_kink == "fail"] * 2 + [True]
    far = judge(found, found.value + 99, np.zeros((2, 3)), rules)
    assert far.wrong.tolist() == [[on_kink == "fail"] * 2 + [True]] * 2
    assert not far.unsure.any()


def test_more_than_half_of_all_pairs_must_be_known() -> None:
    for unknown, verdict in ((3, Verdict.PASS), (4, Verdict.INCONCLUSIVE)):
        error = np.full(6, 1e-12)
        error[:unknown] = 1.0
        found = full_reference(error=error.reshape(2, 3))
        judged = judge(found, found.value, np.zeros((2, 3)), RULES)
        assert judged.verdict is verdict


def test_elements_that_are_left_out_do_not_count_as_known() -> None:
    rules = Rules(3.0, 1e-5, "skip")
    error = rows([1e-12, 1e-12, 1.0], [1e-12, 1e-12, 1.0])
    found = full_reference(error=error, flags=np.array([KINK, KINK, 0], np.uint8))
    assert judge(found, found.value, np.zeros((2, 3)), rules).verdict is Verdict.INCONCLUSIVE


def test_the_most_frequent_doubt_comes_first() -> None:
    flags = [KINK, KINK, KINK, ABSORBED, DOMAIN, DOMAIN | KINK, 0, 0, 0, 0, LATE, JUMP]
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
        judged = judge(found, one, rows([tolerance]), Rules(3.0, 1e-5))
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


def test_more_than_half_of_what_counts_must_be_unsure() -> None:
    rules = Rules(3.0, 1e-5, "skip")
    flags = np.array([KINK, 0, 0], np.uint8)
    for unknown, verdict in ((1, Verdict.PASS), (2, Verdict.INCONCLUSIVE)):
        error = rows([1e-12] * 3)
        error[0, 1 : 1 + unknown] = 1.0
        value = rows([1.0, 2.0, 3.0])
        found = Reference(value, error, value, value, value, flags)
        assert judge(found, value, 0 * value, rules).verdict is verdict


def test_a_hull_is_wide_beside_what_it_is_compared_with() -> None:
    rules = Rules(bars=3.0, resolution=1e-3)
    four, none = rows([4.0]), np.zeros(1, np.uint8)
    for width, unsure in ((0.9 * 4e-3, False), (1.1 * 4e-3, True)):
        found = Reference(four, 0 * four, four - width, four, four, none)
        assert judge(found, four, 0 * four, rules).unsure.tolist() == [[unsure]]
        found = Reference(four, 0 * four + width, four, four, four, none)
        assert judge(found, four, 0 * four, rules).unsure.tolist() == [[unsure]]


def test_error_bars_are_endless_where_nothing_is_known() -> None:
    one = np.ones((2, 3))
    reference = Reference(one, 0 * one, one, one, one, np.zeros(3, np.uint8))
    assert reference.unknown_at(np.zeros(3, np.bool_), DOMAIN) is reference
    column = reference.unknown_at(np.array([False, True, False]), DOMAIN)
    assert column.flags.tolist() == [0, DOMAIN, 0]
    np.testing.assert_array_equal(column.error, [[0, np.inf, 0]] * 2)
    place = reference.unknown_at(np.array([[False] * 3, [False, False, True]]), DOMAIN)
    assert place.flags.tolist() == [0, 0, DOMAIN]
    np.testing.assert_array_equal(place.error, [[0, 0, 0], [0, 0, np.inf]])
