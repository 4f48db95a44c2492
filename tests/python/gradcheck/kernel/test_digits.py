"""A gradient whose digits are those of a narrower dtype."""

import numpy as np
import pytest

from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck.kernel.digits import narrowed_to, with_digits
from fluidcore.gradcheck.measure.judge import KINK, Reference
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.verdict import Reason, Verdict

VALUE = np.array([[0.1, -1.7, 2.3, 0.3, 0.5]])


def exact(value: np.ndarray = VALUE) -> Reference:
    return Reference.exact(value, np.abs(value))


def rounded(dtype: str, value: np.ndarray = VALUE) -> np.ndarray:
    return value.astype(numpy_dtype(dtype)).astype(np.float64)


@pytest.mark.parametrize(
    ("dtype", "narrow"),
    [
        ("float64", "float16"),
        ("float64", "bfloat16"),
        ("float64", "float32"),
        ("float32", "float16"),
        ("float32", "bfloat16"),
    ],
)
def test_a_narrower_dtype_is_named(dtype: str, narrow: str) -> None:
    value = VALUE * (1e6 if narrow == "bfloat16" else 1.0)  # float16 holds the small ones, too
    assert narrowed_to(rounded(narrow, value), exact(value), dtype, 3.0) == narrow


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_all_digits_are_right(dtype: str) -> None:
    assert narrowed_to(rounded(dtype), exact(), dtype, 3.0) is None


def test_one_element_with_more_digits_is_enough() -> None:
    claimed = rounded("float16")
    claimed[0, 3] = 0.3
    assert narrowed_to(claimed, exact(), "float64", 3.0) is None


@pytest.mark.parametrize(("long", "found"), [(3, None), (4, "float16")])
def test_four_elements_must_have_lost_digits(long: int, found: str | None) -> None:
    value = np.array([[1.0, 2.0, 0.5, 0.25, 0.125]])
    value[0, :long] = [0.1, 0.2, 0.3, 0.7][:long]
    assert narrowed_to(rounded("float16", value), exact(value), "float32", 3.0) == found


def test_a_zero_and_a_kink_have_no_digits_to_lose() -> None:
    value = VALUE[:, :4]
    claimed = rounded("float16", value)
    assert narrowed_to(claimed, exact(value), "float32", 3.0) == "float16"
    claimed[0, 2] = 0.0
    assert narrowed_to(claimed, exact(value), "float32", 3.0) is None
    reference = exact(value).replaced(flags=np.array([0, KINK, 0, 0], np.uint8))
    assert narrowed_to(rounded("float16", value), reference, "float32", 3.0) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_not_judged(bad: float) -> None:
    claimed = rounded("float16", np.array([[0.1, 0.2, 0.3, 0.7, 1.0]]))
    claimed[0, 4] = bad
    value = np.array([[0.1, 0.2, 0.3, 0.7, bad]])
    assert narrowed_to(claimed, exact(value), "float32", 3.0) is None


def missing(distance: float, error: float = 0.0, scale: float = 0.0) -> bool:
    """Whether digits are missed in ones that are off by so much, in float64."""
    value = np.full((1, 4), 1.0 + distance)
    found = Reference.exact(value, value * 0 + scale).replaced(error=value * 0 + error)
    return narrowed_to(np.ones((1, 4)), found, "float64", 3.0) is not None


def test_the_error_bars_say_how_many_digits_there_are() -> None:
    distance = 2.0**-30
    assert missing(distance)
    assert missing(distance, error=distance / 3.1)
    assert not missing(distance, error=distance / 2.9)


def test_sixteen_rounding_units_of_the_scale_may_be_lost() -> None:
    distance = 2.0**-30
    assert missing(distance, scale=distance / (16.1 * 2.0**-53))
    assert not missing(distance, scale=distance / (15.9 * 2.0**-53))


def test_a_hundredth_of_the_largest_scale_counts_for_every_element() -> None:
    value = np.full((1, 4), 1.0 + 2.0**-30)
    scale = np.array([[2.0**29, 0.0, 0.0, 0.0]])
    claimed = np.ones((1, 4))
    assert narrowed_to(claimed, Reference.exact(value, scale), "float64", 3.0) is None


def result(verdict: Verdict, *reasons: Reason, detail: str = "") -> GradCheckResult:
    return GradCheckResult(
        "x", (1, 5), "float64", "cpu", "full", verdict, reasons=reasons, detail=detail
    )


def test_a_gradient_without_its_digits_fails_and_the_first_reason_says_so() -> None:
    text = "every element is a number of float16, though the gradient is not"
    found = with_digits(result(Verdict.PASS), rounded("float16"), exact(), 3.0)
    assert (found.verdict, found.reasons) == (Verdict.FAIL, (Reason.NARROWED,))
    assert found.detail == text
    before = result(Verdict.FAIL, Reason.MISMATCH, detail="off")
    found = with_digits(before, rounded("float16"), exact(), 3.0)
    assert found.reasons == (Reason.NARROWED, Reason.MISMATCH)
    assert found.detail == f"{text}; off"
    before = result(Verdict.INCONCLUSIVE, Reason.NOISE)
    assert with_digits(before, rounded("float16"), exact(), 3.0).reasons == (Reason.NARROWED,)


def test_a_gradient_with_its_digits_stays_what_it_is() -> None:
    before = result(Verdict.INCONCLUSIVE, Reason.NOISE, detail="noise")
    assert with_digits(before, VALUE, exact(), 3.0) is before
