"""reshape, transpose, concat and split against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, one_op, run_op


def reshape(source: list[int], shape: list[int]) -> OpCase:
    return OpCase(
        "reshape",
        {"X": normal(*source)},
        lambda X, shape: {"Out": X.reshape(shape)},
        {"shape": shape},
    )


def reshape_by_data(source: list[int], shape: list[int], data: list[int], dtype: str) -> OpCase:
    return OpCase(
        "reshape",
        {"X": normal(*source), "Shape": np.array(data, dtype)},
        lambda X, Shape, shape: {"Out": X.reshape(Shape)},
        {"shape": shape},
        f"to {data}",
    )


def transpose(shape: list[int], axis: list[int]) -> OpCase:
    return OpCase(
        "transpose",
        {"X": normal(*shape)},
        lambda X, axis: {"Out": X.transpose(axis)},
        {"axis": axis},
    )


def concat(*shapes: list[int], **attrs: Any) -> OpCase:
    return OpCase(
        "concat",
        {"X": [normal(*shape, seed=i) for i, shape in enumerate(shapes)]},
        lambda X, axis=0: {"Out": np.concatenate(X, axis)},
        attrs,
    )


def split(shape: list[int], **attrs: Any) -> OpCase:
    def expected(
        X: Array, sections: list[int] | None = None, num: int = 0, axis: int = 0
    ) -> dict[str, list[Array]]:
        cuts: Any = np.cumsum(sections)[:-1] if sections else num
        return {"Out": np.split(X, cuts, axis)}

    return OpCase("split", {"X": normal(*shape)}, expected, attrs)


X, Y = normal(2, 3), normal(2, 3, seed=1)


def flatten(shape: list[int], axis: int) -> OpCase:
    def expected(X: Array, axis: int) -> dict[str, Array]:
        return {"Out": X.reshape(int(np.prod(X.shape[:axis])), int(np.prod(X.shape[axis:])))}

    return OpCase("flatten", {"X": normal(*shape)}, expected, {"axis": axis})


CASES = [
    reshape([6], [2, 3]),
    reshape([2, 3], [6]),
    reshape([2, 3, 7], [-1, 7]),
    reshape([17], [1, -1, 1]),
    reshape([1], []),
    reshape([], [1, 1]),
    reshape([0, 4], [2, 0]),
    reshape([0, 4], [-1, 2]),
    reshape_by_data([2, 6], [-1, -1], [3, 4], "int32"),
    reshape_by_data([2, 6], [-1, 2, -1], [3, 2, 2], "int64"),
    reshape_by_data([2, 6], [-1, -1], [4, -1], "int32"),
    reshape_by_data([2, 6], [3, 4], [3, 4], "int32"),
    reshape_by_data([12], [-1], [12], "int32"),
    reshape_by_data([1, 1], [], [], "int64"),
    reshape_by_data([0, 4], [-1, -1], [2, 0], "int32"),
    reshape_by_data([0, 4], [-1, -1], [0, 0], "int32"),
    *(
        flatten(shape, axis)
        for shape in ([], [5], [2, 3], [0, 3, 2])
        for axis in range(max(len(shape), 1) + 1)
    ),
    transpose([], []),
    transpose([5], [0]),
    transpose([0, 4], [1, 0]),
    transpose([32, 64], [1, 0]),
    transpose([2, 65, 70], [0, 2, 1]),
    transpose([33, 2, 64], [2, 1, 0]),
    transpose([3, 5], [1, 0]),
    transpose([17, 33], [1, 0]),
    transpose([2, 3, 5], [2, 0, 1]),
    transpose([2, 3, 5], [0, 2, 1]),
    transpose([2, 3, 4, 5], [0, 3, 1, 2]),
    transpose([2, 1, 3, 1, 2], [4, 3, 2, 1, 0]),
    concat([3]),
    concat([3], [2], [257]),
    concat([2, 3], [2, 0], [2, 17], axis=1),
    concat([2, 3], [4, 3]),
    concat([2, 3, 2], [2, 1, 2], axis=-2),
    concat([0, 3], [0, 3]),
    OpCase("concat", {"X": [X, Y, X]}, lambda X: {"Out": np.concatenate(X)}, note="one twice"),
    split([6], num=3),
    split([6], num=1),
    split([2, 6], num=2, axis=1),
    split([2, 17, 2], sections=[3, 0, 14], axis=1),
    split([2, 3, 5], sections=[4, 1], axis=-1),
    split([0, 4], num=2),
]
CASES += [
    OpCase(
        "transpose",
        {"X": integers(0, 2, 3, 5).astype(dtype)},
        lambda X, axis: {"Out": X.T},
        {"axis": [1, 0]},
        dtype,
    )
    for dtype in ("bool", "int16", "int32", "int64")
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_a_gradient_that_is_not_wanted_is_left_out_of_concat() -> None:
    from fluidcore import core

    one = one_op("concat", {"X": [X, Y]})
    (grad,), _ = core.get_grad_op_desc(one.op, {"x_0"}, [])
    assert grad.output("X@GRAD") == [core.EMPTY_VAR_NAME, "x_1@GRAD"]
    one.add_value("out_out@GRAD", normal(4, 3))
    one.block.add_op(grad.type(), grad.inputs(), grad.outputs(), grad.attrs())
    np.testing.assert_array_equal(one.run(["x_1@GRAD"])[0], normal(4, 3)[2:])


@pytest.mark.parametrize(
    ("shape", "data", "message"),
    [
        (
            [-1, -1],
            [5, 2],
            r"Shape must have as many elements as X, got X \[2, 3\], Shape \[5, 2\]",
        ),
        ([-1, -1], [-1, -1], r"Shape must hold at most one -1, got \[-1, -1\]"),
        ([-1, -1], [-3, -2], r"Shape must hold extents and at most one -1, got \[-3, -2\]"),
        ([-1, -1], [0, -1], r"Shape must have no 0 beside a -1, got \[0, -1\]"),
        (
            [2, -1],
            [3, 2],
            r"Shape must agree with shape \[2, -1\], got \[3, 2\]; write -1 for what Shape says",
        ),
        ([-1, -2], [3, 2], r"shape must hold extents, or -1 where Shape says it, got \[-1, -2\]"),
        ([-1], [3, 2], r"Shape must have shape \[1\], got \[2\]"),
        ([-1, -1], [3.0, 2.0], "Shape must be int32 or int64, got float64"),
    ],
)
def test_a_shape_in_a_tensor_that_does_not_fit_is_an_error(
    shape: list[int], data: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^reshape: {message}"):
        run_op("reshape", {"X": X, "Shape": np.array(data)}, {"shape": shape})


def test_a_gradient_of_another_size_is_an_error() -> None:
    inputs = {"X": X, "Shape": np.array([3, 2]), "Out@GRAD": normal(3, 3)}
    with pytest.raises(ValueError, match="reshape_grad: Out@GRAD must have as many elements as X"):
        run_op("reshape_grad", inputs, {"shape": [-1, -1]})


@pytest.mark.parametrize(
    ("op_type", "attrs", "message"),
    [
        (
            "reshape",
            {"shape": [5]},
            r"shape must have as many elements as X, got X \[2, 3\], shape \[5\]",
        ),
        ("reshape", {"shape": [4, -1]}, r"shape must have as many elements as X, got X \[2, 3\]"),
        ("reshape", {"shape": [-1, -1]}, r"shape must hold at most one -1, got \[-1, -1\]"),
        ("reshape", {"shape": [-1, 0]}, r"shape must have no 0 beside a -1, got \[-1, 0\]"),
        (
            "reshape",
            {"shape": [-2, 3]},
            r"shape must hold extents and at most one -1, got \[-2, 3\]",
        ),
        (
            "reshape",
            {"shape": [2**62, 4, -1]},
            rf"extents of shape must have a product that can be counted, got \[{2**62}, 4, -1\]$",
        ),
        ("transpose", {"axis": [0]}, r"axis must name every dimension once, got \[0\] for rank 2"),
        ("transpose", {"axis": [0, 0]}, r"axis must name every dimension once, got \[0, 0\]"),
        ("transpose", {"axis": [0, 2]}, r"axis must be in \[-2, 2\) for an input of rank 2, got 2"),
    ],
)
def test_a_bad_shape_is_an_error(op_type: str, attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"{op_type}: {message}"):
        run_op(op_type, {"X": X}, attrs)


@pytest.mark.parametrize(
    ("attrs", "count", "message"),
    [
        ({}, 2, "sections must be given or num be at least 1, got num 0"),
        ({"num": 2}, 3, "Out must hold num variables, got num 2, 3 variables"),
        ({"num": 2, "axis": 1}, 2, r"num must divide the extent of axis 1, got num 2, X \[2, 3\]"),
        (
            {"sections": [1, 2]},
            2,
            r"sections must add up to the extent of axis 0, got sections \[1, 2\], X \[2, 3\]",
        ),
        ({"sections": [3, -1]}, 2, "sections must add up to the extent of axis 0"),
        (
            {"sections": [2**63 - 1, 2**63 - 1, 4]},  # 2 modulo 2**64
            3,
            "extents must have a sum that can be counted",
        ),
        (
            {"sections": [2]},
            2,
            r"Out must hold a variable for each of sections, got sections \[2\], 2 variables",
        ),
        ({"num": 2, "axis": 2}, 2, r"axis must be in \[-2, 2\)"),
    ],
)
def test_a_bad_split_is_an_error(attrs: dict[str, Any], count: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"split: {message}"):
        one_op("split", {"X": X}, attrs, {"Out": count})


def test_parts_that_do_not_fit_together_are_an_error() -> None:
    message = (
        r"concat: all of X must be alike in dtype and in every extent but that of axis 0, "
        r"got float64 \[2, 3\] and, at position 1, float64 \[2, 4\]"
    )
    with pytest.raises(ValueError, match=message):
        one_op("concat", {"X": [X, normal(2, 4)]})
    with pytest.raises(ValueError, match=r"concat: axis must be in \[-2, 2\)"):
        one_op("concat", {"X": [X, Y]}, {"axis": 2})


@pytest.mark.parametrize("axis", [-1, 3])
def test_flatten_at_a_dimension_that_there_is_not_is_an_error(axis: int) -> None:
    with pytest.raises(ValueError, match=rf"^flatten: axis must be in \[0, 2\], got {axis}$"):
        run_op("flatten", {"X": normal(2, 3)}, {"axis": axis})
