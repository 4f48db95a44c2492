"""Gradients that are below the rounding of terms which cancel out in f."""

import numpy as np
import pytest
from targets import NumpyTarget, checked

from fluidcore.gradcheck.verdict import Reason, Verdict

SIZE = 12


def sum_of_tanh(scale: float, seed: int, factor: float = 1.0) -> NumpyTarget:
    """As many terms are 1 as -1, but for their last digits."""
    rng = np.random.default_rng(seed)
    x = scale * rng.uniform(0.9, 1.1, SIZE) * rng.permutation(np.resize([-1.0, 1.0], SIZE))
    return NumpyTarget(lambda x: np.tanh(x).sum(), lambda x, v: v * factor / np.cosh(x) ** 2, [x])


@pytest.mark.parametrize("scale", [16, 20, 25, 40])
def test_a_saturated_sum_that_cancels_accuses_no_right_gradient(scale: float) -> None:
    for seed in range(8):
        report = checked(sum_of_tanh(scale, seed), seed=seed)
        assert report.verdict is not Verdict.FAIL
        if report.verdict is Verdict.INCONCLUSIVE:
            assert report.results[0].reasons[0] in (Reason.NOISE, Reason.KINK)


def test_a_wrong_gradient_of_a_sum_that_cancels_is_found() -> None:
    for seed in range(8):
        assert checked(sum_of_tanh(1, seed, 1 + 1e-5), seed=seed).verdict is Verdict.FAIL
        assert checked(sum_of_tanh(8, seed, 1.1), seed=seed).verdict is Verdict.FAIL


def test_a_function_that_counts_has_no_grid_to_hide_a_gradient_in() -> None:
    x = 3 * np.random.default_rng(4).standard_normal(SIZE)
    for f in (np.floor, np.sign, lambda x: 0 * x):
        assert checked(NumpyTarget(f, lambda x, v: 1e-6 * v, [x])).verdict is Verdict.FAIL


def test_a_gradient_far_below_the_values_of_other_signs_is_still_judged() -> None:
    x = -np.random.default_rng(5).uniform(5, 15, SIZE)  # exp(-x) is 1e4 to 1e13 times exp(x)
    right = NumpyTarget(np.exp, lambda x, v: v * np.exp(x), [x])
    assert checked(right).verdict is Verdict.PASS
    wrong = NumpyTarget(np.exp, lambda x, v: 1.001 * v * np.exp(x), [x])
    assert checked(wrong).verdict is Verdict.FAIL
