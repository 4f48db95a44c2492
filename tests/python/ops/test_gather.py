"""gather, index_select and take_along_axis against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, run_op

from fluidcore import core


def select(X: Array, Index: Array, axis: int = 0) -> dict[str, Array]:
    return {"Out": np.take(X, Index.reshape(-1) if Index.ndim else Index, axis)}


def along(X: Array, Index: Array, axis: int = -1) -> dict[str, Array]:
    if X.ndim == 0:
        return {"Out": X}
    rest = [list(X.shape), list(Index.shape)]
    rest[0][axis] = rest[1][axis] = 1
    beside = list(np.broadcast_shapes(*rest))  # NumPy does not broadcast X in every version
    shapes = [[*beside], [*beside]]
    shapes[0][axis], shapes[1][axis] = X.shape[axis], Index.shape[axis]
    index = np.broadcast_to(Index, shapes[1]).astype(np.int64)
    return {"Out": np.take_along_axis(np.broadcast_to(X, shapes[0]), index, axis)}


SELECT: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((7,), (5,), 0),
    ((7, 3), (5, 1), 0),
    ((7, 3), (0,), 0),
    ((7, 0), (5,), 0),
    ((17, 5), (257,), 0),
    ((4, 2, 3), (6,), 0),
    ((1, 300), (2,), 0),
    ((7,), (), 0),
    ((7, 3), (), 0),
]
AXES: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((3, 5), (9,), 1),
    ((2, 5, 3), (4, 1), 1),
    ((2, 3, 5), (7,), -1),
    ((0, 3), (2,), 1),
    ((2, 3, 5), (), -2),
]
ALONG: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((5,), (3,), 0),
    ((3, 5), (3, 4), 1),
    ((3, 5), (9, 5), 0),
    ((2, 5, 3), (2, 4, 3), 1),
    ((2, 5, 3), (2, 0, 3), -2),
    ((0, 5), (0, 2), -1),
    ((4, 257), (4, 300), -1),
    ((), (), -1),
]
BROADCAST: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((3, 5), (1, 4), 1),
    ((1, 5), (3, 4), 1),
    ((3, 5), (2, 1), 0),
    ((3, 1), (2, 5), 0),
    ((2, 5, 3), (1, 4, 1), 1),
    ((2, 5, 1), (1, 4, 3), -2),
    ((1, 5, 1, 4), (3, 2, 2, 1), 1),
    ((2, 5, 3), (1, 0, 1), 1),
    ((0, 5), (1, 2), 1),
    ((1, 5), (0, 2), 1),
    ((1, 1), (1, 300), -1),
    ((1, 257), (33, 40), -1),
]
CASES = [
    OpCase("gather", {"X": normal(*x), "Index": integers(0, x[0], *index).astype(dtype)}, select)
    for (x, index, _), dtype in zip(SELECT, ["int32", "int64"] * 5, strict=False)
]
CASES += [
    OpCase(
        "index_select",
        {"X": normal(*x), "Index": integers(0, x[axis], *index).astype(dtype)},
        select,
        {"axis": axis},
    )
    for (x, index, axis), dtype in zip(SELECT + AXES, ["int64", "int32"] * 7, strict=False)
]
CASES += [
    OpCase(
        "take_along_axis",
        {"X": normal(*x), "Index": integers(0, (x or (1,))[axis], *index).astype(dtype)},
        along,
        {"axis": axis},
    )
    for (x, index, axis), dtype in zip(ALONG + BROADCAST, ["int64", "int32"] * 10, strict=False)
]
WHOLE = [
    ("int16", integers(-9, 9, 5, 3).astype(np.int16)),
    ("int32", integers(-9, 9, 5, 3).astype(np.int32)),
    ("int64", integers(-9, 9, 5, 3)),
    ("bool", normal(5, 3) > 0),
]
CASES += [
    OpCase(op_type, {"X": x, "Index": index}, formula, note=note)
    for note, x in WHOLE
    for op_type, index, formula in (
        ("gather", np.array([4, 0, 4]), select),
        ("index_select", np.array([4, 0, 4]), select),
        ("take_along_axis", integers(0, 3, 5, 2), along),
    )
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("op_type", ["gather", "index_select", "take_along_axis"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("bad", [3, -1])
def test_an_index_out_of_range_is_an_error_that_names_its_place(
    op_type: str, dtype: str, bad: int
) -> None:
    inputs = {"X": normal(3), "Index": np.array([0, bad], dtype=dtype)}
    message = rf"Index must be in \[0, 3\), got {bad} at position 1"
    with pytest.raises(ValueError, match=f"^{op_type}: {message}"):
        run_op(op_type, inputs)
    with pytest.raises(ValueError, match=f"^{op_type}_grad: {message}"):
        run_op(f"{op_type}_grad", {**inputs, "Out@GRAD": normal(2)})


@pytest.mark.parametrize(
    ("op_type", "x", "index", "attrs", "message"),
    [
        ("gather", (), (2,), {}, r"X must have rank 1 or more, got \[\]"),
        ("gather", (3,), (2, 2), {}, r"Index must be \[N\] or \[N, 1\], got \[2, 2\]"),
        (
            "index_select",
            (3,),
            (2,),
            {"axis": 1},
            r"axis must be in \[-1, 1\) for an input of rank 1, got 1",
        ),
        (
            "take_along_axis",
            (3, 2),
            (2, 2),
            {"axis": 1},
            r"X and Index must have equal extents or 1 in every dimension but axis 1, got "
            r"X \[3, 2\], Index \[2, 2\]",
        ),
        (
            "take_along_axis",
            (3, 2),
            (3,),
            {"axis": 0},
            r"X and Index must have equal extents or 1 in every dimension but axis 0, got "
            r"X \[3, 2\], Index \[3\]",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_errors(
    op_type: str, x: tuple[int, ...], index: tuple[int, ...], attrs: dict[str, Any], message: str
) -> None:
    inputs = {"X": normal(*x), "Index": np.zeros(index, np.int64)}
    with pytest.raises(ValueError, match=f"^{op_type}: {message}$"):
        run_op(op_type, inputs, attrs)


def test_an_index_that_is_not_whole_is_an_error() -> None:
    message = r"^gather: Index must be int32 or int64, got int16; write cast\(index, 'int64'\)$"
    with pytest.raises(ValueError, match=message):
        run_op("gather", {"X": normal(3), "Index": np.zeros(2, np.int16)})


def test_a_broadcast_index_out_of_range_is_an_error() -> None:
    inputs = {"X": normal(2, 3), "Index": np.array([[0, 3]])}
    with pytest.raises(ValueError, match=r"^take_along_axis: Index must be in \[0, 3\), got 3 at"):
        run_op("take_along_axis", inputs)


def test_extents_that_are_not_known_broadcast() -> None:
    block = core.ProgramDesc().block(0)
    for name, shape, dtype in (("x", [-1, 1, 5], "float32"), ("i", [-1, 4, 2], "int64")):
        block.var(name).set_shape(shape)
        block.var(name).set_dtype(dtype)
    block.add_op("take_along_axis", {"X": ["x"], "Index": ["i"]}, {"Out": ["out"]}, {})
    assert list(block.var("out").shape()) == [-1, 4, 2]


def test_many_gradients_of_one_row_are_added_in_float() -> None:
    ones = np.ones((5000, 1), np.float16)
    inputs = {"X": ones[:2], "Index": np.zeros(5000, np.int64), "Out@GRAD": ones}
    np.testing.assert_array_equal(run_op("gather_grad", inputs)["X@GRAD"], [[5000.0], [0.0]])
