"""Judgements made into results."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from judged import DOMAIN, KINK, SUBGRADIENT, Judgement, Reference, judge
from targets import target_of

from fluidcore import core
from fluidcore.gradcheck.pipeline.assemble import (
    blank,
    not_finite,
    of_directions,
    of_elements,
    refused,
    undecided,
    with_digits,
)
from fluidcore.gradcheck.report.data import ElementError
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.verdict import Reason, Verdict

BASE = blank(target_of("tanh"), 0, "float64", "full")
VALUE = np.array([[1.0, 2.0, 4.0, 0.0], [1.0, -2.0, 0.0, 8.0]])


def judged(claimed, error=1e-9, flags=(0, 0, 0, 0), hull=0.0, tolerance=0.0, **rules) -> Judgement:
    flags = np.array(flags, np.uint8)
    wide = np.where(flags & KINK, hull, 0.0)
    error = np.where(flags & DOMAIN, np.inf, np.broadcast_to(error, VALUE.shape))
    found = Reference(VALUE, error, VALUE, VALUE + wide, np.abs(VALUE), flags)
    return judge(found, np.asarray(claimed, float), tolerance + 0 * VALUE, core.Rules(**rules))


def result_of(judgement: Judgement, elements=(0, 1, 2, 3), **options):
    options = {"failing": Reason.MISMATCH, "verbose": False, **options}
    reference = SimpleNamespace(
        flags=judgement.reference.flags,
        error=judgement.reference.error,
        failure=options.pop("failure", None),
    )
    return of_elements(BASE, judgement.native, reference, np.array(elements), **options)


def test_nothing_is_a_pass() -> None:
    found = blank(target_of("tanh"), 0, "float64", "full")
    assert found == BASE
    assert (found.resolution, found.min_detectable_99) == (0.0, 0.0)
    assert (BASE.name, BASE.shape, BASE.dtype, BASE.mode) == ("x0", (3, 4), "float64", "full")
    assert BASE.verdict is Verdict.PASS


def test_what_is_undecided_sees_nothing() -> None:
    found = undecided(BASE, Reason.BUDGET, "late")
    assert (found.verdict, found.reasons) == (Verdict.INCONCLUSIVE, (Reason.BUDGET,))
    assert found.resolution == found.min_detectable_99 == np.inf
    assert found.detail == "late"


def test_what_is_refused_fails() -> None:
    found = refused(BASE, Reason.WRONG_SHAPE, "shape")
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.WRONG_SHAPE,))
    assert found.detail == "shape"


def test_the_first_ten_elements_that_are_not_finite_are_listed() -> None:
    gradient = np.arange(12.0)
    gradient[1:] = np.nan
    gradient[3] = -np.inf
    found = not_finite(BASE, gradient)
    assert found.reasons == (Reason.NON_FINITE,)
    assert [error.index for error in found.element_errors or ()] == list(range(1, 11))
    third = (found.element_errors or ())[2]
    assert third.analytical == -np.inf
    assert np.isnan(third.numerical)
    assert third.error_bar == 0
    assert (found.num_elements, found.num_passed) == (12, 1)
    assert found.max_relative_error == found.max_absolute_error == np.inf
    assert found.detail == "the gradient is nan at element [0, 1]; 11 of 12 are not finite"


def test_the_worst_cotangent_of_each_element_counts() -> None:
    claimed = VALUE + np.array([[0.0, 0.0, 2e-6, 0.0], [0.0, 0.5, 1e-6, 4.0]])
    found = result_of(judged(claimed), elements=(2, 5, 7, 11))
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.MISMATCH,))
    assert (found.num_elements, found.num_passed, found.kinks) == (4, 1, 0)
    assert found.element_errors == (
        ElementError(11, 12.0, 8.0, 1e-9, Verdict.FAIL),
        ElementError(5, -1.5, -2.0, 1e-9, Verdict.FAIL),
        ElementError(7, 4 + 2e-6, 4.0, 1e-9, Verdict.FAIL),
    )
    relative, absolute = [0.0, 0.25, 2e-6 / (4 + 2e-6), 4 / 12], [0.0, 0.5, 2e-6, 4.0]
    assert found.max_relative_error == pytest.approx(np.max(relative))
    assert found.mean_relative_error == pytest.approx(np.mean(relative))
    assert found.median_relative_error == pytest.approx(np.median(relative))
    assert found.max_absolute_error == pytest.approx(np.max(absolute))
    assert found.mean_absolute_error == pytest.approx(np.mean(absolute))
    assert found.median_absolute_error == pytest.approx(np.median(absolute))
    assert found.detail == (
        "element [2, 3] is 12, numerically 8 ± 1e-09: off by 4, more than the 3e-09 that error "
        "bar and rounding allow; 3 of 4 are wrong"
    )


def test_the_detail_names_the_element_with_the_largest_relative_error() -> None:
    claimed = VALUE + np.array([[0.0, 0.002, 0.002, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = result_of(judged(claimed, error=np.array([[1e-9, 2e-9, 1e-12, 1e-9]] * 2)))
    assert [error.index for error in found.element_errors or ()] == [2, 1]
    assert found.detail.startswith("element [0, 1] is 2.002, numerically 2 ± 2e-09: off by 0.002")


def test_a_wrong_kernel_is_told_beside_the_formula() -> None:
    claimed = VALUE + np.array([[0.0, 0.002, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = result_of(judged(claimed), failing=Reason.KERNEL)
    assert found.detail.startswith("element [0, 1] is 2.002, by the formula 2 ± 1e-09: off by")


def test_without_an_error_bar_only_rounding_is_allowed() -> None:
    claimed = VALUE + np.array([[0.0, 0.25, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = result_of(judged(claimed, error=0.0, tolerance=1e-3))
    at = VALUE[0, 1]
    assert found.detail == (
        f"element [0, 1] is {at + 0.25:g}, compared with {at:g}: off by 0.25, more than the 0.001 "
        "that rounding allows; 1 of 4 are wrong"
    )


def test_errors_beside_zero_are_relative_to_a_hundred_millionth() -> None:
    claimed = VALUE.copy()
    claimed[0, 3] = 1e-10  # of the first cotangent; the second is exactly right
    found = result_of(judged(claimed))
    assert found.verdict is Verdict.PASS
    assert found.max_relative_error == pytest.approx(0.01)


def test_the_resolution_is_that_of_the_worst_element() -> None:
    judgement = judged(VALUE)
    found = result_of(judgement)
    assert found.resolution == found.min_detectable_99 == judgement.resolution.max()
    assert found.resolution == pytest.approx(3e-9 / 0.04)


def test_verbose_lists_right_elements_behind_the_wrong_ones() -> None:
    claimed = VALUE + np.array([[0.0, 2e-9, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    found = result_of(judged(claimed), verbose=True)
    assert [error.index for error in found.element_errors or ()] == [2, 1, 0, 3]
    assert [bool(error.verdict) for error in found.element_errors or ()] == [False, *[True] * 3]
    assert result_of(judged(VALUE)).element_errors is None


def test_what_a_pass_leaves_open_is_named() -> None:
    judgement = judged(VALUE, error=np.where(VALUE == 1.0, 1.0, 1e-9), allow_open=0.2)
    found = result_of(judgement)
    assert (found.verdict, found.reasons) == (Verdict.PASS, ())
    assert (found.num_elements, found.num_passed) == (4, 3)
    assert found.detail == "1 of 4 cannot be judged: noise"
    assert found.resolution == pytest.approx(3.0)


def test_elements_that_are_left_out_are_neither_listed_nor_counted() -> None:
    claimed = VALUE + np.array([[9.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    judgement = judged(claimed, flags=(KINK, 0, 0, 0), on_kink="skip")
    found = result_of(judgement, verbose=True)
    assert found.verdict is Verdict.PASS
    assert (found.num_elements, found.num_passed, found.kinks) == (3, 3, 1)
    assert [error.index for error in found.element_errors or ()] == [1, 2, 3]
    assert found.max_absolute_error == 0


def test_a_kink_inside_of_which_nothing_is_seen_has_no_resolution() -> None:
    inside = VALUE + np.array([[0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = result_of(judged(inside, flags=(KINK, 0, 0, 0), hull=1.0))
    assert (found.verdict, found.reasons) == (Verdict.INCONCLUSIVE, (Reason.KINK,))
    assert (found.num_passed, found.kinks) == (3, 1)
    assert found.resolution == np.inf
    assert found.detail == "1 of 4 cannot be judged: kink"


def test_a_kink_that_was_measured_from_both_sides_has_a_resolution() -> None:
    inside = VALUE + np.array([[0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    judgement = judged(inside, flags=(KINK | SUBGRADIENT, 0, 0, 0), hull=1.0)
    found = result_of(judgement)
    assert (found.verdict, found.reasons, found.detail) == (Verdict.PASS, (), "")
    assert (found.num_passed, found.kinks) == (4, 1)
    assert found.resolution == judgement.resolution.max() == pytest.approx(3e-9 / 0.04)


def test_a_kink_that_is_forbidden_is_the_reason() -> None:
    found = result_of(judged(VALUE, flags=(0, KINK, 0, KINK), on_kink="fail"))
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.KINK,))
    assert found.detail == "element [0, 1] is at a kink; 2 of 4 are"
    found = result_of(judged(VALUE + 1e-9, flags=(0, 0, KINK, 0), on_kink="fail"))
    assert found.reasons == (Reason.KINK,)
    assert found.detail == "element [0, 2] is at a kink; 1 of 4 are"
    claimed = VALUE + np.array([[0.0, 9.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = result_of(judged(claimed, flags=(0, KINK, 0, KINK), on_kink="fail"))
    assert found.reasons == (Reason.MISMATCH,)


def test_what_cannot_be_judged_is_counted_and_not_measured() -> None:
    claimed = VALUE + np.array([[0.0, 0.0, 0.0, 0.0], [7.0, 0.0, 0.0, 2e-9]])
    judgement = judged(claimed, flags=(DOMAIN, DOMAIN, 0, 0))
    found = result_of(judgement, failure="ValueError: outside")
    assert (found.verdict, found.reasons) == (Verdict.INCONCLUSIVE, (Reason.DOMAIN,))
    assert (found.num_elements, found.num_passed) == (4, 2)
    assert found.max_absolute_error == pytest.approx(2e-9, rel=1e-6)
    assert found.detail == "2 of 4 cannot be judged: domain; f raised: ValueError: outside"
    assert result_of(judgement).detail == "2 of 4 cannot be judged: domain"
    nothing = result_of(judged(claimed, flags=(DOMAIN,) * 4))
    assert nothing.max_relative_error == 0


def test_one_number_has_no_place() -> None:
    base = replace(BASE, shape=())
    assert not_finite(base, np.array([np.nan])).detail.startswith("the gradient is nan at the elem")


def with_error(value: np.ndarray, error: float) -> Reference:
    flags = np.zeros(value.shape[1], np.uint8)
    return Reference(value, np.full_like(value, error), value, value, np.abs(value), flags)


def along(claimed, culprits=()) -> SimpleNamespace:
    found = with_error(VALUE[:1], 1e-9)
    judgement = judge(found, np.array([claimed]), np.zeros((1, 4)), core.Rules())
    return SimpleNamespace(
        judgement=judgement.native,
        reference=found.native,
        min_detectable_99=0.125,
        culprits=culprits,
    )


def test_directions_that_agree_pass() -> None:
    found = of_directions(BASE, along(VALUE[0]), False)
    assert found.verdict is Verdict.PASS
    assert (found.num_elements, found.num_passed) == (4, 4)
    assert found.min_detectable_99 == 0.125
    assert found.resolution == pytest.approx(3e-9 / 0.04)
    assert found.detail == ""


def culprit(index: int, claimed: float) -> tuple[int, core.Derivatives, core.Judgement]:
    one = np.array([[1.0]])
    found = with_error(one, 1e-9)
    return index, found.native, judge(found, claimed * one, 0 * one, core.Rules()).native


def test_the_elements_that_the_search_found_are_listed_worst_first() -> None:
    culprits = [culprit(3, 1.1), culprit(6, 3.0), culprit(9, -1.0)]
    claimed = VALUE[0] + [0.0, 1.0, 0.0, 1.0]
    found = of_directions(BASE, along(claimed, culprits), False)
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.MISMATCH,))
    assert [error.index for error in found.element_errors or ()] == [6, 9, 3]
    assert found.detail == (
        "wrong along 2 of 4 random directions; element [1, 2] is 3, numerically 1 ± 1e-09"
    )


def test_without_a_wrong_element_only_directions_are_told() -> None:
    found = of_directions(BASE, along(VALUE[0] + 1), False)
    assert found.element_errors is None
    assert found.detail == "wrong along 4 of 4 random directions"


def test_nothing_is_left_if_all_elements_are_left_out() -> None:
    judgement = judged(VALUE, flags=(KINK,) * 4, on_kink="skip")
    found = result_of(judgement)
    assert (found.verdict, found.reasons) == (Verdict.INCONCLUSIVE, (Reason.NO_ELEMENTS,))
    assert "left out" in found.detail


def zeros(claimed: float, limit: float, error: float = 0.0, scale: float = 0.0) -> float:
    """The resolution where the derivative is 0."""
    zero = np.zeros((1, 4))
    found = Reference(zero, zero + error, zero, zero, zero + scale, np.zeros(4, np.uint8))
    judgement = judge(found, zero + claimed, zero + limit, core.Rules())
    return result_of(judgement).resolution


def test_where_there_is_no_gradient_any_would_be_seen() -> None:
    tiny = float(np.finfo("float64").tiny)
    assert zeros(0.0, 0.0) == zeros(0.0, tiny) == zeros(0.0, tiny, scale=1e-280) == 0
    assert zeros(1e-320, tiny) > 0
    assert zeros(0.0, tiny, error=1e-320) > 0


LIMIT = 3 * 2.0**-30


def off(rows, **options) -> Judgement:
    """Claims that are off by so many limits, exactly: [2, 4]."""
    return judged(VALUE + LIMIT * np.array(rows, float), error=2.0**-30, **options)


def shown(judgement: Judgement) -> list[float]:
    """By how many limits the cotangent that is shown is off, for each element."""
    errors = result_of(judgement, verbose=True).element_errors or ()
    found = sorted(errors, key=lambda error: error.index)
    return [abs(error.analytical - error.numerical) / LIMIT for error in found]


def test_the_cotangent_that_is_shown_is_the_farthest() -> None:
    assert shown(off([[0.25, 0.75, 0.0, 0.5], [0.5, 0.5, 0.25, 0.0]])) == [0.5, 0.75, 0.25, 0.5]


def test_an_element_that_one_cotangent_leaves_open_has_not_passed() -> None:
    error = np.full((2, 4), 1e-9)
    error[0, 0] = error[1, 1] = 99.0
    found = result_of(judged(VALUE, error=error))
    assert found.num_passed == 2
    assert found.detail == "2 of 4 cannot be judged: noise"


def test_an_error_bar_that_is_too_wide_says_what_would_have_been_seen() -> None:
    found = result_of(judged(VALUE, error=0.01))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.resolution == pytest.approx(0.03 / 0.04)  # beside a hundredth of the largest


@pytest.mark.parametrize(("limits", "reason"), [(1.0, Reason.KINK), (1.5, Reason.MISMATCH)])
def test_at_a_kink_more_than_the_limit_is_a_mismatch(limits: float, reason: Reason) -> None:
    found = result_of(off([[0, limits, 0, 0], [0] * 4], flags=(0, KINK, 0, 0), on_kink="fail"))
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (reason,))
    assert ("is at a kink" in found.detail) == (reason is Reason.KINK)


def result(verdict: Verdict, *reasons: Reason, detail: str = "") -> GradCheckResult:
    return GradCheckResult(
        "x", (1, 5), "float64", "cpu", "full", verdict, reasons=reasons, detail=detail
    )


def test_a_gradient_without_its_digits_fails_and_the_first_reason_says_so() -> None:
    text = "every element is a number of float16, though the gradient is not"
    found = with_digits(result(Verdict.PASS), "float16")
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.NARROWED,))
    assert found.detail == text
    before = result(Verdict.FAIL, Reason.MISMATCH, detail="off")
    found = with_digits(before, "float16")
    assert found.reasons == (Reason.NARROWED, Reason.MISMATCH)
    assert found.detail == f"{text}; off"
    before = result(Verdict.INCONCLUSIVE, Reason.NOISE)
    assert with_digits(before, "float16").reasons == (Reason.NARROWED,)


def test_a_gradient_with_its_digits_stays_what_it_is() -> None:
    before = result(Verdict.INCONCLUSIVE, Reason.NOISE, detail="noise")
    assert with_digits(before, None) is before
