"""Results and reports as plain data."""

import pickle
from dataclasses import asdict, replace

import pytest

from fluidcore.gradcheck.report.data import Audit
from fluidcore.gradcheck.report.result import GradCheckReport, GradCheckResult, GradientError
from fluidcore.gradcheck.verdict import Reason, Verdict

RESULT = GradCheckResult("x", (2, 3), "float64", "cpu", "full", Verdict.PASS)
AUDIT = Audit("repeatable", Verdict.PASS)


def test_what_was_not_found_is_nothing() -> None:
    nothing = {
        "reasons": (),
        "max_relative_error": 0.0,
        "mean_relative_error": 0.0,
        "median_relative_error": 0.0,
        "max_absolute_error": 0.0,
        "mean_absolute_error": 0.0,
        "median_absolute_error": 0.0,
        "num_elements": 0,
        "num_passed": 0,
        "element_errors": None,
        "resolution": float("inf"),
        "min_detectable_99": float("inf"),
        "kinks": 0,
        "num_forward": 0,
        "num_backward": 0,
        "seconds": 0.0,
        "hypotheses": (),
        "levels": (),
        "detail": "",
        "num_examples": 1,
        "num_examples_passed": 1,
    }
    found = asdict(GradCheckResult("x", (2, 3), "float64", "cpu", "full", Verdict.PASS))
    assert {name: found[name] for name in nothing} == nothing
    assert AUDIT == ("repeatable", Verdict.PASS, None, "")
    report = GradCheckReport("f", (RESULT,))
    assert (report.audits, report.culprit, report.repro, report.source) == ((), None, "", "")
    assert (report.seed, report.env, report.notes) == (0, {}, ())


@pytest.mark.parametrize("verdict", Verdict)
def test_only_a_pass_is_passed(verdict: Verdict) -> None:
    result = replace(RESULT, verdict=verdict)
    assert result.passed is bool(result) is (verdict is Verdict.PASS)


@pytest.mark.parametrize(
    ("result", "audit", "together"),
    [
        (Verdict.PASS, Verdict.PASS, Verdict.PASS),
        (Verdict.FAIL, Verdict.PASS, Verdict.FAIL),
        (Verdict.PASS, Verdict.FAIL, Verdict.FAIL),
        (Verdict.INCONCLUSIVE, Verdict.PASS, Verdict.INCONCLUSIVE),
        (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE),
    ],
)
def test_a_report_is_as_good_as_its_worst_part(result, audit, together: Verdict) -> None:
    results = (RESULT, replace(RESULT, verdict=result))
    report = GradCheckReport("f", results, audits=(AUDIT, AUDIT._replace(verdict=audit)))
    assert report.verdict is together
    assert bool(report) is (together is Verdict.PASS)


def test_a_report_without_results_decides_nothing() -> None:
    assert GradCheckReport("f", ()).verdict is Verdict.INCONCLUSIVE


def report(verdict: Verdict) -> GradCheckReport:
    reasons = () if verdict is Verdict.PASS else (Reason.NOISE,)
    return GradCheckReport("f", (replace(RESULT, verdict=verdict, reasons=reasons),))


def test_an_error_has_the_text_of_the_report() -> None:
    failed = report(Verdict.FAIL)
    for allowed in (False, True):
        with pytest.raises(GradientError) as caught:
            failed.assert_ok(allow_inconclusive=allowed)
        assert str(caught.value) == str(failed)
        assert caught.value.report is failed
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.report) == (str(failed), failed)


def test_what_is_inconclusive_is_an_error_unless_it_is_allowed() -> None:
    unsure = report(Verdict.INCONCLUSIVE)
    with pytest.raises(GradientError):
        unsure.assert_ok()
    unsure.assert_ok(allow_inconclusive=True)
    report(Verdict.PASS).assert_ok()


def test_the_traceback_of_an_error_ends_at_the_line_of_the_user() -> None:
    with pytest.raises(GradientError) as caught:
        report(Verdict.FAIL).assert_ok()
    assert caught.traceback[-1].frame.f_locals["__tracebackhide__"] is True


def test_results_and_reports_are_shown_on_one_line() -> None:
    failed = report(Verdict.FAIL)
    assert repr(failed) == "<GradCheckReport FAIL  f: 1 of 1 gradient wrong>"
    assert repr(failed.results[0]) == (
        "<GradCheckResult FAIL  x [2, 3] float64 cpu, full: nothing was compared>"
    )


def test_only_a_pass_leaves_elements_open() -> None:
    some = replace(RESULT, num_elements=7, num_passed=5)
    assert replace(some, verdict=Verdict.PASS).num_open == 2
    assert replace(some, verdict=Verdict.FAIL).num_open == 0
    assert replace(some, verdict=Verdict.INCONCLUSIVE).num_open == 0
