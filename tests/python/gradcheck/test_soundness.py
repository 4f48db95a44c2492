"""No wrong gradient passes, no right one fails, whatever the function does at the point."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pytest
from regimes import REGIMES, Array, Case, random_case

from fluidcore.gradcheck import GradCheckReport, GradCheckResult, Verdict, check

QUICK = 25
LARGEST = 60  # elements, of the quick cases
CHUNK = 100
CASES = 20_000
DEMANDED = 1e-5  # the resolution that a PASS must have
LEAST = 1e-12  # of an error that is planted where the resolution is 0
MANY = 10  # times what a check says it sees, must be seen

FAILS = "a right gradient fails"
IS_OPEN = "a right gradient is not proven"
PASSES = "a wrong gradient passes"  # by the resolution that its own report states
SEES_LESS = "a check sees less than it says"  # by the resolution of the right gradient's report

# The branches that meet at a tie of many are found at random, and may not all be found. Those that
# hold a claim are measured beside the point, with longer error bars, which its own report states.
LEFT_OUT: dict[str, tuple[str, ...]] = {"tie": (IS_OPEN, SEES_LESS)}


@dataclass
class Claim:
    """A gradient that is wrong in one element, or right.

    Attributes:
        case: What it is the gradient of.
        element: The wrong one.
        change: Of its derivative.
        error: How far the changed one is from the nearest right one.
        cotangents: All that it was asked for.
    """

    case: Case
    element: int = 0
    change: float = 0.0
    error: float = 0.0
    cotangents: list[Array] = field(default_factory=list)

    def __call__(self, x: Array, v: Array) -> Array:
        self.cotangents.append(np.array(v))
        gradient = self.case.vjp(x, v)
        if self.change:
            gradient[self.element] += self.change * self.case.unit(v, self.element)
        return gradient

    def unit_error(self, result: GradCheckResult) -> float:
        """The error of a derivative that has a relative error of 1 in every row that is judged."""
        case, i = self.case, self.element
        rows = [v for v in self.cotangents if np.any(v) and (v.size == 1 or np.ptp(v) > 0)]
        if result.mode == "full":
            rows = rows[:1]
        return max(measure(case, v, result, i) / abs(case.unit(v, i)) for v in rows)


def slope_of_height(case: Case, v: Array) -> float:
    """|f| over |x|: what a derivative of 0 is compared with."""
    size = float(np.sqrt(np.mean(case.x**2))) or 1.0
    return float(np.sum(np.abs(v * case.f(case.x)))) / size


def measure(case: Case, v: Array, result: GradCheckResult, i: int) -> float:
    """What the resolution is relative to."""
    if result.detail.startswith("0, as far"):
        return slope_of_height(case, v)
    if result.mode == "full":
        return float(case.measures(v)[i])
    gradient = case.vjp(case.x, v)
    return float(np.sqrt(np.mean(gradient[np.isfinite(gradient)] ** 2)))


def visible(result: GradCheckResult) -> float:
    """The relative error of one element that the check says it sees."""
    seen = result.resolution if result.mode == "full" else result.min_detectable_99
    return max(seen, LEAST) if np.isfinite(seen) else DEMANDED


def report_on(case: Case, claim: Claim) -> GradCheckReport:
    return check(case.f, case.x, vjp=claim, raise_exception=False, explain=False)


def wrong_claim(right: Claim, seed: int, result: GradCheckResult) -> Claim:
    """Off by `MANY` times what the check of the right gradient says it sees, and more."""
    case, random = right.case, np.random.default_rng([seed, 1])
    i = int(random.integers(case.x.size))
    unit = Claim(case, i, cotangents=right.cotangents).unit_error(result)
    if unit == 0:  # f is constant
        unit = slope_of_height(case, right.cotangents[0])
    error = MANY * visible(result) * unit * 10 ** random.uniform(0, 3)
    change = case.high[i] + error if random.integers(2) else -case.low[i] - error
    return Claim(case, i, change, error)


def complaint(regime: str, seed: int, largest: float = np.inf) -> str:
    """What is unsound about the checks of one case; empty if nothing is, or if it is too large."""
    case = random_case(regime, seed)
    if case.x.size > largest:
        return ""
    right = Claim(case)
    report = report_on(case, right)
    text = f"{case.name}: x = {case.x[:8].tolist()}\n{report}"
    if report.verdict is Verdict.FAIL:
        return f"{FAILS}: {text}"
    if case.must_pass and report.verdict is not Verdict.PASS:
        return f"{IS_OPEN}: {text}"
    wrong = wrong_claim(right, seed, report.results[0])
    again = report_on(case, wrong)
    if again.verdict is not Verdict.PASS:
        return ""
    text += f"\nelement {wrong.element} off by {wrong.error:.3g}: {again}"
    result = again.results[0]
    is_seen = wrong.error >= MANY * visible(result) * wrong.unit_error(result)
    return f"{PASSES if is_seen else SEES_LESS}: {text}"


def complaints(regime: str, seeds: Iterable[int], largest: float = np.inf) -> str:
    left_out = LEFT_OUT.get(regime, ())
    found = [complaint(regime, seed, largest) for seed in seeds]
    return "\n\n".join(text for text in found if text and not text.startswith(left_out))


@pytest.mark.parametrize("regime", REGIMES)
def test_what_passes_is_right_and_what_fails_is_wrong(regime: str) -> None:
    assert not complaints(regime, range(QUICK), LARGEST)


def test_a_tread_of_a_staircase_that_finer_steps_see_refutes_nothing() -> None:
    assert not complaint("grid rounding", 1213)


def test_a_tread_of_one_element_that_the_others_hide_refutes_nothing() -> None:
    assert not complaint("grid rounding", 46618)


def test_longer_error_bars_of_a_second_measurement_prove_nothing_that_the_first_refutes() -> None:
    assert not complaint("grid rounding", 43181)


def test_what_central_differences_see_of_a_jump_is_no_size_to_compare_with() -> None:
    assert not complaint("jump beside the point", 823)


def test_code_that_is_wrong_by_less_than_is_demanded_is_not_right_beside_the_point() -> None:
    assert not complaint("cancellation", 159)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", range(QUICK, QUICK + CASES // len(REGIMES), CHUNK))
@pytest.mark.parametrize("regime", REGIMES)
def test_it_is_so_in_many_cases(regime: str, first: int) -> None:
    assert not complaints(regime, range(first, first + CHUNK))
