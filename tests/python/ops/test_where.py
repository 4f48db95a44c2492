"""where against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, integers, normal
from op_runner import Array, run_op


def where(Condition: Array, X: Array, Y: Array) -> dict[str, Array]:
    return {"Out": np.where(Condition, X, Y)}


BROADCAST: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((3, 5), (), (5,)),
    ((5,), (3, 1), (3, 5)),
    ((3, 1), (1, 5), ()),
    ((), (2, 3), (2, 3)),
    ((2, 1, 4), (3, 1), (1,)),
    ((0, 3), (3,), (1,)),
    ((4, 1), (4, 300), (1, 300)),
]
CASES = [
    OpCase(
        "where",
        {"Condition": normal(*c, seed=2) > 0, "X": normal(*x), "Y": normal(*y, seed=1)},
        where,
    )
    for c, x, y in [(shape, shape, shape) for shape in SHAPES] + BROADCAST
]
CASES += [
    OpCase("where", {"Condition": normal(7) > 0, "X": x[:7], "Y": x[7:]}, where, note=str(x.dtype))
    for x in (
        normal(14) > 0,
        *(integers(-9, 9, 14).astype(dtype) for dtype in ("int16", "int32", "int64")),
    )
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_what_is_not_chosen_may_be_nan() -> None:
    inputs = {
        "Condition": np.array([True, False]),
        "X": np.array([1.0, np.nan]),
        "Y": np.array([np.inf, 2.0]),
    }
    np.testing.assert_array_equal(run_op("where", inputs)["Out"], [1, 2])


@pytest.mark.parametrize(
    ("condition", "x", "y", "message"),
    [
        (normal(2), normal(2), normal(2), "Condition must be bool, got float64; .*"),
        (
            normal(2) > 0,
            integers(0, 9, 2),
            integers(0, 9, 2).astype(np.int32),
            r"X and Y must have the same dtype, got int64 and int32; write cast\(y, 'int64'\)",
        ),
        (
            normal(2) > 0,
            normal(3),
            normal(3),
            "Condition, X and Y must have equal extents or 1 in every dimension, "
            r"got Condition \[2\], X \[3\], Y \[3\]",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(condition: Array, x: Array, y: Array, message: str) -> None:
    with pytest.raises(ValueError, match=f"^where: {message}$"):
        run_op("where", {"Condition": condition, "X": x, "Y": y})
