"""Gradients of a maximum that is reached more than once."""

import numpy as np
from targets import NumpyTarget, checked

from fluidcore.gradcheck.verdict import Verdict


def tied(share: float, mode_seed: int) -> NumpyTarget:
    """The maximum of rows; the first two elements of one are its maximum, and get `share`."""
    x = np.random.default_rng(mode_seed).standard_normal((3, 4))
    x[0, :2] = 3

    def vjp(x, v):
        a = (x == x.max(-1, keepdims=True)) * v[:, None]
        a[0, :2] *= share
        return a

    return NumpyTarget(lambda x: x.max(-1), vjp, [x])


def test_equal_shares_of_a_tie_pass_and_all_of_it_for_each_does_not() -> None:
    for seed in range(6):
        assert checked(tied(0.5, seed), seed=seed).verdict is Verdict.PASS
        assert checked(tied(1.0, seed), seed=seed).verdict is Verdict.INCONCLUSIVE
        for share, verdict in ((0.5, Verdict.PASS), (1.0, Verdict.INCONCLUSIVE)):
            found = checked(tied(share, seed), seed=seed, mode="directional")
            assert found.verdict is verdict


def test_more_than_the_steepest_slope_of_a_tie_is_wrong() -> None:
    for seed in range(6):
        assert checked(tied(1.5, seed), seed=seed).verdict is Verdict.FAIL
        assert checked(tied(-0.5, seed), seed=seed).verdict is Verdict.FAIL
