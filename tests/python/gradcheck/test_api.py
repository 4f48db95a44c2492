"""check: the one call."""

import numpy as np
import pytest

from fluidcore.gradcheck import GradCheckConfig, GradientError, Verdict, check

X = np.linspace(0.5, 2.0, 4)


def cube(x):
    return x**3


def right(x, v):
    return 3 * x**2 * v


def wrong(x, v):
    return 2 * x**2 * v


def noisy(x, random=np.random.default_rng(0)):  # noqa: B008  # the same generator in every call
    return x + random.standard_normal(x.shape)


@pytest.mark.parametrize(
    ("f", "vjp", "verdict"),
    [(cube, wrong, Verdict.FAIL), (noisy, lambda x, v: v, Verdict.INCONCLUSIVE)],
)
def test_what_is_not_proven_is_an_assertion_error_with_the_text_of_the_report(
    f, vjp, verdict: Verdict
) -> None:
    with pytest.raises(AssertionError, match=f"^{verdict.name}  {f.__name__}: 1 of 1 ") as caught:
        check(f, X, vjp=vjp)
    assert isinstance(caught.value, GradientError)
    report = caught.value.report
    assert report is not None
    assert report.verdict is verdict
    assert str(caught.value) == str(report)


def test_the_report_is_returned_where_it_is_proven_or_not_to_be_raised() -> None:
    assert check(cube, X, vjp=right).verdict is Verdict.PASS
    report = check(cube, X, vjp=wrong, raise_exception=False)
    assert report.verdict is Verdict.FAIL
    assert not report


def test_a_derivative_along_a_direction_that_does_not_fit_the_gradient_is_raised() -> None:
    with pytest.raises(GradientError, match="jvp and vjp agree, float64"):
        check(cube, X, vjp=right, jvp=lambda x, u: 2 * x**2 * u)


def test_the_traceback_of_an_error_shows_the_line_of_the_user() -> None:
    with pytest.raises(GradientError) as caught:
        check(cube, X, vjp=wrong, config=GradCheckConfig(explain=False))
    shown = [
        entry for entry in caught.traceback if not entry.frame.f_locals.get("__tracebackhide__")
    ]
    assert [str(entry.path) for entry in shown] == [__file__]
