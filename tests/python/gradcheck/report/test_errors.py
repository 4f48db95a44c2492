"""Errors of the elements of a gradient, and what sums them up."""

import subprocess
import sys

import numpy as np
import pytest

from fluidcore.gradcheck.report.errors import (
    absolute_errors,
    median,
    relative_errors,
    with_statistics,
)
from fluidcore.gradcheck.report.result import GradCheckResult
from fluidcore.gradcheck.verdict import Verdict

CHECK = """
import sys
import numpy as np
from fluidcore.gradcheck import check
check(np.sin, np.ones(10), vjp=lambda x, v: v * np.cos(x))
assert "numpy.ma" not in sys.modules
"""


def test_errors_are_relative_to_the_larger_of_both() -> None:
    analytical = np.array([1.0, 2.0, -2.0, 0.0, 1e-9, 5.0])
    numerical = np.array([2.0, 1.0, 2.0, 4.0, 0.0, 5.0])
    found = relative_errors(analytical, numerical)
    np.testing.assert_allclose(found, [0.5, 0.5, 2.0, 1.0, 0.1, 0.0], rtol=1e-12)
    found = absolute_errors(analytical, numerical)
    np.testing.assert_allclose(found, [1.0, 1.0, 4.0, 4.0, 1e-9, 0.0], rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_infinitely_wrong(bad: float) -> None:
    one, bads = np.array([1.0]), np.array([bad])
    for pair in ((one, bads), (bads, one), (bads, bads)):
        assert relative_errors(*pair) == [np.inf]
        assert absolute_errors(*pair) == [np.inf]


def test_no_elements_have_no_statistics() -> None:
    result = GradCheckResult("x", (0,), "float64", "cpu", "full", Verdict.PASS)
    assert with_statistics(result, np.zeros(0), np.zeros(0)) is result


def test_statistics_are_those_of_numpy() -> None:
    result = GradCheckResult("x", (4,), "float64", "cpu", "full", Verdict.PASS)
    found = with_statistics(result, np.array([1.0, 2, 3, 5]), np.array([1.0, 2.5, 2, 4]))
    assert (found.max_absolute_error, found.mean_absolute_error) == (1.0, 0.625)
    assert found.median_absolute_error == 0.75
    assert found.max_relative_error == pytest.approx(1 / 3)
    assert found.median_relative_error == 0.2
    assert found.mean_relative_error == pytest.approx((0 + 0.2 + 1 / 3 + 0.2) / 4)


@pytest.mark.parametrize("count", [1, 2, 5, 10, 101])
def test_the_median_is_that_of_numpy(count: int) -> None:
    values = np.random.default_rng(count).standard_normal(count)
    assert median(values) == np.median(values)
    assert median(np.full(count, np.inf)) == np.inf


def test_a_check_does_not_load_what_takes_longer_than_itself() -> None:
    subprocess.run([sys.executable, "-c", CHECK], check=True)
