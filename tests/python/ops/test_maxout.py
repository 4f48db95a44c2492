"""maxout against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import distinct, normal
from op_runner import Array, run_op


def maxout(X: Array, groups: int) -> dict[str, Array]:
    n, c, *rest = X.shape
    return {"Out": X.reshape(n, c // groups, groups, *rest).max(axis=2)}


CASES = [
    OpCase("maxout", {"X": distinct(*shape)}, maxout, {"groups": groups})
    for shape, groups in (
        ((2, 6, 3, 5), 2),
        ((2, 6, 3, 5), 3),
        ((2, 6, 3, 5), 1),
        ((3, 4), 4),
        ((1, 4, 130), 2),
        ((0, 4, 3), 2),
        ((2, 0, 3), 2),
        ((2, 4, 0), 2),
    )
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_a_maximum_with_nan_is_nan() -> None:
    x = np.array([[1.0, np.nan, -np.inf, np.inf]])
    np.testing.assert_array_equal(
        run_op("maxout", {"X": x}, {"groups": 2})["Out"], [[np.nan, np.inf]]
    )


def test_the_first_of_a_tie_gets_the_gradient_and_its_gradient_comes_from_there() -> None:
    x = np.array([[3.0, 3.0, 1.0, 2.0]])
    maxima = {"X": x, "Out": np.array([[3.0, 2.0]])}
    grad = run_op("maxout_grad", maxima | {"Out@GRAD": np.array([[5.0, 7.0]])}, {"groups": 2})
    np.testing.assert_array_equal(grad["X@GRAD"], [[5, 0, 0, 7]])
    back = run_op(
        "maxout_grad_grad", maxima | {"X@GRAD@GRAD": 10 * x + [[0, 1, 2, 3]]}, {"groups": 2}
    )
    np.testing.assert_array_equal(back["Out@GRAD@GRAD"], [[30, 23]])


@pytest.mark.parametrize(
    ("shape", "groups", "message"),
    [
        ((2, 5, 3), 2, r"groups must divide the channels of X, got X \[2, 5, 3\], groups 2"),
        ((2, 4), 0, r"groups must be at least 1, got 0"),
        ((2, 4), -2, r"groups must be at least 1, got -2"),
        ((4,), 2, r"X must have rank 2 or more \[N, C, \.\.\.\], got \[4\]"),
    ],
)
def test_groups_that_do_not_fit_are_an_error(
    shape: tuple[int, ...], groups: int, message: str
) -> None:
    with pytest.raises(ValueError, match=rf"maxout: {message}"):
        run_op("maxout", {"X": normal(*shape)}, {"groups": groups})
