"""scale, sum, minus and increment against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, integers, normal
from op_runner import one_op, run_op

from fluidcore import core

X = normal(3, 5)
Y = normal(3, 5, seed=1)
Z = normal(3, 5, seed=2)

CASES = [
    *[OpCase("scale", {"X": normal(*shape)}, lambda X: {"Out": X}) for shape in SHAPES],
    OpCase("scale", {"X": X}, lambda X, scale: {"Out": scale * X}, {"scale": -2.5}),
    OpCase("scale", {"X": X}, lambda X, scale: {"Out": scale * X}, {"scale": 0}),
    OpCase(
        "scale",
        {"X": integers(-9, 9, 7).astype(np.int32)},
        lambda X, scale: {"Out": X * 3},
        {"scale": 3.0},
    ),
    OpCase(
        "scale",
        {"X": np.array([-3, 3, 2**62 + 1])},
        lambda X, scale: {"Out": -X},
        {"scale": -1.0},
        "exact in int64",
    ),
    OpCase(
        "scale",
        {"X": np.array([-3, 3])},
        lambda X, scale: {"Out": np.array([-1, 1])},
        {"scale": 0.5},
        "toward zero",
    ),
    *[OpCase("sum", {"X": [normal(*shape)]}, lambda X: {"Out": X[0]}) for shape in SHAPES],
    OpCase("sum", {"X": [X, Y, Z]}, lambda X: {"Out": X[0] + X[1] + X[2]}),
    OpCase(
        "sum", {"X": [X, Y, X]}, lambda X: {"Out": X[0] + X[1] + X[2]}, note="one variable twice"
    ),
    OpCase(
        "sum", {"X": [integers(0, 9, 4), integers(0, 9, 4, seed=1)]}, lambda X: {"Out": X[0] + X[1]}
    ),
    *[
        OpCase(
            "minus",
            {"X": normal(*shape), "Y": normal(*shape, seed=1)},
            lambda X, Y: {"Out": np.asarray(X - Y)},
        )
        for shape in SHAPES
    ],
    OpCase(
        "minus",
        {"X": integers(0, 9, 4), "Y": integers(0, 9, 4, seed=1)},
        lambda X, Y: {"Out": X - Y},
        note="whole numbers",
    ),
    OpCase("increment", {"X": np.array([2.0])}, lambda X: {"Out": X + 1}),
    OpCase("increment", {"X": np.array(2.0)}, lambda X, step: {"Out": X + step}, {"step": -0.25}),
    OpCase("increment", {"X": np.array([[41]])}, lambda X, step: {"Out": X + 2}, {"step": 2.0}),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_a_counter_is_incremented_in_its_own_variable() -> None:
    one = one_op("increment", {"X": np.array([41])}, in_place={"Out": "X"})
    one.block.var("x").set_persistable(True)
    executor = core.Executor(core.CPUPlace())
    for _ in range(3):
        executor.run(one.program, {}, [], one.scope)
    assert np.asarray(one.scope.find_var("x").get_tensor()) == [44]


def test_a_sum_may_be_written_to_one_of_its_terms() -> None:
    one = one_op("sum", {"X": [X, Y, Z]})
    one.block.remove_op(0, 1)
    one.block.add_op("sum", {"X": ["x_0", "x_1", "x_2"]}, {"Out": ["x_0"]}, {})
    np.testing.assert_allclose(one.run(["x_0"])[0], X + Y + Z, rtol=1e-15)


def test_increment_of_more_than_one_element_is_an_error() -> None:
    message = r"increment: X must have one element, got \[3, 5\]; write scale or elementwise_add"
    with pytest.raises(ValueError, match=message):
        run_op("increment", {"X": X})


def test_minus_does_not_broadcast() -> None:
    with pytest.raises(ValueError, match=r"minus: Y must have shape \[3, 5\], got \[5\]"):
        run_op("minus", {"X": X, "Y": X[0]})


def test_minus_of_mixed_dtypes_is_an_error() -> None:
    message = (
        r"minus: X and Y must have the same dtype, got X float64 \[3, 5\], Y float32 \[3, 5\]; "
        r"write cast\(y, 'float64'\)"
    )
    with pytest.raises(ValueError, match=message):
        run_op("minus", {"X": X, "Y": X.astype(np.float32)})


def test_sum_of_different_shapes_is_an_error() -> None:
    message = (
        r"sum: all of X must have one shape and dtype, got float64 \[3, 5\] and, at position 1, "
        r"float64 \[5\]"
    )
    with pytest.raises(ValueError, match=message):
        one_op("sum", {"X": [X, X[0]]})


def test_sum_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"sum: input X must be given \(.*\), got nothing"):
        one_op("sum", {"X": []})
