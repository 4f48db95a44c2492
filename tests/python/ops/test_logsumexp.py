"""logsumexp against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op


def logsumexp(
    X: Doubles, dim: int | list[int] = 0, keep_dim: bool = False, reduce_all: bool = False
) -> dict[str, Doubles]:
    axis = None if reduce_all or X.ndim == 0 else tuple(np.atleast_1d(dim))
    keep = keep_dim and not reduce_all
    out = np.asarray(np.logaddexp.reduce(X, axis=axis, keepdims=keep))
    return {"Out": out if out.ndim else out.reshape(1)}


CASES = [
    OpCase("logsumexp", {"X": normal(*shape)}, logsumexp, attrs)
    for shape, attrs in [
        ((), {"reduce_all": True}),
        ((), {}),
        ((), {"dim": -1}),
        ((5,), {}),
        ((257,), {}),
        ((0, 4), {"dim": 1}),
        ((3, 5), {}),
        ((3, 5), {"dim": -1, "keep_dim": True}),
        ((2, 3, 7), {"dim": 1}),
        ((2, 3, 7), {"dim": [-1, 0], "keep_dim": True}),
        ((2, 3, 5, 4), {"dim": [2, 0]}),
        ((2, 3, 7), {"reduce_all": True}),
    ]
]
CASES += [
    OpCase(
        "logsumexp",
        {"X": normal(3, 5) + 1e4},
        logsumexp,
        {"dim": 1},
        "large",
        grad=(),
        dtypes=["float64"],
    )
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def run(x: Any) -> dict[str, Any]:
    return run_op("logsumexp", {"X": np.array(x)}, {"dim": 1})


def test_infinities_and_nan_are_those_of_numpy() -> None:
    inf = np.inf
    x = [[-inf, -inf], [inf, 0.0], [-inf, 2.0], [np.nan, 1.0], [1000.0, 1000.0]]
    expected = [-inf, inf, 2.0, np.nan, 1000 + np.log(2)]
    np.testing.assert_allclose(run(x)["Out"], expected, rtol=1e-15)


def test_the_sum_of_nothing_has_the_logarithm_of_zero() -> None:
    out = run_op("logsumexp", {"X": normal(0, 4)})["Out"]
    np.testing.assert_array_equal(out, np.full(4, -np.inf))


def test_what_is_minus_infinity_has_no_part_in_the_gradient() -> None:
    given = {
        "X": np.array([[-np.inf, -np.inf], [-np.inf, 0.0]]),
        "Out": np.array([-np.inf, 0.0]),
        "Out@GRAD": np.ones(2),
    }
    grad = run_op("logsumexp_grad", given, {"dim": 1})["X@GRAD"]
    np.testing.assert_array_equal(grad, [[0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("dim", "message"),
    [
        (2, r"logsumexp: axis must be in \[-2, 2\) for an input of rank 2, got 2"),
        ([0, 0], r"logsumexp: dim must name each dimension once, got \[0, 0\]"),
        ([], r"logsumexp: dim must name a dimension, got \[\]; write reduce_all=True for all"),
    ],
)
def test_a_dimension_that_there_is_not_is_an_error(dim: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_op("logsumexp", {"X": normal(3, 5)}, {"dim": dim})
