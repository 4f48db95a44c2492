"""scatter, gather_nd and scatter_nd_add against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, run_op


def replaced(Ref: Array, Index: Array, Updates: Array) -> dict[str, Array]:
    out = Ref.copy()
    for row, update in zip(Index.reshape(-1), Updates, strict=True):
        out[row] = update
    return {"Out": out}


def at(Index: Array) -> tuple[Array, ...]:
    return tuple(np.moveaxis(Index, -1, 0))


def parts(X: Array, Index: Array) -> dict[str, Array]:
    return {
        "Out": X[at(Index)] if Index.shape[-1] else np.tile(X, (*Index.shape[:-1], *[1] * X.ndim))
    }


def added(X: Array, Index: Array, Updates: Array) -> dict[str, Array]:
    out = X.copy()
    np.add.at(out, at(Index), Updates)
    return {"Out": out}


def positions(extents: tuple[int, ...], *shape: int, dtype: str = "int64") -> Array:
    index = [integers(0, extent, *shape, seed=axis) for axis, extent in enumerate(extents)]
    return np.stack(index, -1).astype(dtype)


SCATTER: list[tuple[tuple[int, ...], tuple[int, ...], str]] = [
    ((7,), (3,), "int32"),
    ((7, 3), (4, 1), "int64"),
    ((5, 3), (17,), "int64"),
    ((7, 3), (0,), "int32"),
    ((7, 0), (4,), "int32"),
    ((4, 2, 3), (2,), "int64"),
    ((3, 300), (2,), "int32"),
]
PARTS: list[tuple[tuple[int, ...], int, tuple[int, ...], str]] = [
    ((5,), 1, (3,), "int64"),
    ((5, 3), 1, (17,), "int32"),
    ((5, 3), 2, (40,), "int64"),
    ((2, 3, 4), 2, (2, 5), "int32"),
    ((2, 3, 4), 3, (), "int64"),
    ((5, 3), 2, (0,), "int64"),
    ((5, 0), 1, (2,), "int32"),
]
CASES = [
    OpCase(
        "scatter",
        {
            "Ref": normal(*ref),
            "Index": integers(0, ref[0], *index).astype(dtype),
            "Updates": normal(index[0], *ref[1:], seed=1),
        },
        replaced,
    )
    for ref, index, dtype in SCATTER
]
CASES += [
    OpCase(
        "scatter",
        {"Ref": x, "Index": np.array([4, 0, 4]), "Updates": x[:3]},
        replaced,
        note=str(x.dtype),
    )
    for x in (integers(-9, 9, 5, 3).astype(np.int16), integers(-9, 9, 5, 3), normal(5, 3) > 0)
]
CASES += [
    OpCase(
        "gather_nd",
        {"X": normal(*x), "Index": positions(x[:depth], *shape, dtype=dtype)},
        parts,
    )
    for x, depth, shape, dtype in PARTS
]
CASES += [OpCase("gather_nd", {"X": normal(3), "Index": np.zeros((2, 0), np.int64)}, parts)]
CASES += [
    OpCase("gather_nd", {"X": x, "Index": positions((5, 3), 4)}, parts, note=str(x.dtype))
    for x in (integers(-9, 9, 5, 3).astype(np.int32), normal(5, 3) > 0)
]
CASES += [
    OpCase(
        "scatter_nd_add",
        {
            "X": normal(*x),
            "Index": positions(x[:depth], *shape, dtype=dtype),
            "Updates": normal(*shape, *x[depth:], seed=1),
        },
        added,
    )
    for x, depth, shape, dtype in PARTS
]
CASES += [
    OpCase(
        "scatter_nd_add",
        {"X": x, "Index": positions((5, 3), 9), "Updates": np.arange(9).astype(x.dtype)},
        added,
        note=str(x.dtype),
    )
    for x in (integers(-9, 9, 5, 3).astype(np.int32), integers(-9, 9, 5, 3))
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("bad", [3, -1])
def test_an_index_out_of_range_is_an_error_before_anything_is_written(bad: int) -> None:
    ref, index, updates = np.zeros((3, 2)), np.array([0, bad]), np.ones((2, 2))
    message = rf"Index must be in \[0, 3\), got {bad} at position 1"
    case = OpCase(
        "scatter",
        {"Ref": ref, "Index": index, "Updates": updates},
        lambda **_: {"Out": ref},
        in_place={"Out": "Ref"},
    )
    one, _ = case.build("float64")
    with pytest.raises(ValueError, match=f"^scatter: {message}"):
        one.run(["ref"])
    assert not np.array(one.scope.find_var("ref").get_tensor()).any()
    inputs = {"Ref": ref, "Index": index, "Updates": updates, "Out@GRAD": ref}
    with pytest.raises(ValueError, match=f"^scatter_grad: {message}"):
        run_op("scatter_grad", inputs)


def test_a_row_is_replaced_in_place_by_the_last_update() -> None:
    inputs = {"Ref": np.zeros(3), "Index": np.array([1, 1]), "Updates": np.array([5.0, 7.0])}
    one, _ = OpCase("scatter", inputs, replaced, in_place={"Out": "Ref"}).build("float64")
    np.testing.assert_array_equal(one.run(["ref"])[0], [0, 7, 0])


@pytest.mark.parametrize("op_type", ["gather_nd", "scatter_nd_add"])
def test_a_position_out_of_range_names_its_dimension(op_type: str) -> None:
    inputs = {"X": normal(3, 4), "Index": np.array([[0, 3], [2, 4]], np.int32)}
    if op_type == "scatter_nd_add":
        inputs["Updates"] = normal(2)
    message = rf"^{op_type}: Index must be in \[0, 4\) for dimension 1 of X, got 4 at position 3"
    with pytest.raises(ValueError, match=message):
        run_op(op_type, inputs)


@pytest.mark.parametrize(
    ("op_type", "inputs", "message"),
    [
        (
            "scatter",
            {"Ref": (3, 2), "Index": (2,), "Updates": (2, 3)},
            r"Updates must have a row like those of Ref for each element of Index, got Ref "
            r"float64 \[3, 2\], Index int64 \[2\], Updates float64 \[2, 3\]",
        ),
        (
            "scatter",
            {"Ref": (), "Index": (2,), "Updates": (2,)},
            r"Ref must have rank 1 or more, got \[\]",
        ),
        (
            "gather_nd",
            {"X": (3,), "Index": ()},
            r"Index must have a last dimension of known extent, got \[\]",
        ),
        (
            "gather_nd",
            {"X": (3,), "Index": (4, 2)},
            r"the last extent of Index must be at most the rank of X, got Index \[4, 2\], X \[3\]",
        ),
        (
            "scatter_nd_add",
            {"X": (3, 2), "Index": (4, 1), "Updates": (4,)},
            r"Updates must have shape \[4, 2\], got \[4\]",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_errors(
    op_type: str, inputs: dict[str, tuple[int, ...]], message: str
) -> None:
    given: dict[str, Any] = {slot: normal(*shape) for slot, shape in inputs.items()}
    given["Index"] = np.zeros(inputs["Index"], np.int64)
    with pytest.raises(ValueError, match=f"^{op_type}: {message}$"):
        run_op(op_type, given)
