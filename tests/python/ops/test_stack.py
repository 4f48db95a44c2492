"""stack and unstack against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, one_op

from fluidcore import core


def stack(X: list[Array], axis: int = 0) -> dict[str, Array]:
    return {"Y": np.stack(X, axis)}


def unstack(X: Array, axis: int = 0, num: int = 0) -> dict[str, list[Array]]:
    return {"Y": [np.array(part) for part in np.moveaxis(X, axis, 0)]}


def parts(count: int, shape: tuple[int, ...]) -> list[Array]:
    return [normal(*shape, seed=i) for i in range(count)]


CHOICES: list[tuple[tuple[int, ...], int, int]] = [
    ((), 2, 0),
    ((1,), 1, 0),
    ((257,), 3, 1),
    ((3, 5), 2, 0),
    ((3, 5), 3, 1),
    ((3, 5), 2, -1),
    ((2, 3, 7), 2, -3),
    ((0, 4), 2, 1),
]
ONE = normal(2, 3)
CASES = [
    OpCase("stack", {"X": parts(count, shape)}, stack, {"axis": axis})
    for shape, count, axis in CHOICES
] + [
    OpCase("unstack", {"X": np.stack(parts(count, shape), axis)}, unstack, attrs | {"axis": axis})
    for shape, count, axis in CHOICES
    for attrs in ({}, {"num": count})
]
CASES += [OpCase("stack", {"X": [ONE, normal(2, 3, seed=1), ONE]}, stack, note="one twice")]
CASES += [
    OpCase(
        "stack",
        {"X": [integers(0, 2, 3, 5, seed=i).astype(dtype) for i in (0, 1)]},
        stack,
        note=dtype,
    )
    for dtype in ("bool", "int16", "int32", "int64")
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_a_gradient_that_is_not_wanted_is_left_out_of_stack() -> None:
    one = one_op("stack", {"X": parts(2, (2, 3))})
    (grad,), _ = core.get_grad_op_desc(one.op, {"x_0"}, [])
    assert grad.output("X@GRAD") == [core.EMPTY_VAR_NAME, "x_1@GRAD"]
    one.add_value("y_out@GRAD", normal(2, 2, 3))
    one.block.add_op(grad.type(), grad.inputs(), grad.outputs(), grad.attrs())
    np.testing.assert_array_equal(one.run(["x_1@GRAD"])[0], normal(2, 2, 3)[1])


def test_parts_that_do_not_fit_together_are_an_error() -> None:
    message = (
        r"^stack: all of X must be alike in dtype and shape, "
        r"got float64 \[2, 3\] and, at position 1, float64 \[2, 4\]$"
    )
    with pytest.raises(ValueError, match=message):
        one_op("stack", {"X": [ONE, normal(2, 4)]})
    with pytest.raises(ValueError, match=r"^stack: axis must be in \[-3, 3\) .*, got 3$"):
        one_op("stack", {"X": [ONE, ONE]}, {"axis": 3})


@pytest.mark.parametrize(
    ("attrs", "count", "message"),
    [
        ({"num": 2}, 3, "Y must hold num variables, got num 2, 3 variables$"),
        (
            {"axis": 1},
            2,
            r"Y must hold a variable for each index of axis 1, got X \[2, 3\], 2 variables$",
        ),
        ({"axis": 2}, 2, r"axis must be in \[-2, 2\) for an input of rank 2, got 2$"),
    ],
)
def test_a_bad_unstack_is_an_error(attrs: dict[str, Any], count: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^unstack: {message}"):
        one_op("unstack", {"X": ONE}, attrs, {"Y": count})


def test_an_unknown_extent_that_another_part_knows_is_known() -> None:
    one = one_op("stack", {"X": parts(2, (2, 3))})
    one.block.var("x_0").set_shape([-1, 3])
    one.block.add_op("stack", {"X": ["x_0", "x_1"]}, {"Y": ["y"]}, {"axis": 1})
    assert one.block.var("y").shape() == [2, 2, 3]
