"""crop, slice and strided_slice against NumPy."""

import itertools
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, one_op, run_op


def cropped(
    X: Array, offsets: list[int], shape: list[int] | None = None, Y: Array | None = None
) -> dict[str, Array]:
    extents = shape if Y is None else Y.shape
    assert extents is not None
    return {"Out": X[tuple(slice(o, o + e) for o, e in zip(offsets, extents, strict=True))]}


CROPPED: list[tuple[tuple[int, ...], list[int], list[int]]] = [
    ((), [], []),
    ((1,), [0], [1]),
    ((0, 4), [0, 1], [0, 2]),
    ((3, 5), [1, 2], [2, 3]),
    ((3, 5), [1, 0], [2, 5]),
    ((3, 5), [3, 0], [0, 5]),
    ((257,), [17], [200]),
    ((2, 3, 7), [0, 1, 2], [2, 1, 4]),
]
CASES = [
    OpCase("crop", {"X": normal(*x)}, cropped, {"offsets": offsets, "shape": shape})
    for x, offsets, shape in CROPPED
] + [
    OpCase(
        "crop",
        {"X": normal(*x), "Y": normal(*shape, seed=1)},
        cropped,
        {"offsets": offsets},
        grad=["X"],
    )
    for x, offsets, shape in CROPPED
]
CASES += [
    OpCase(
        "crop",
        {"X": integers(0, 2, 3, 5).astype(dtype)},
        cropped,
        {"offsets": [1, 2], "shape": [2, 2]},
        dtype,
    )
    for dtype in ("bool", "int16", "int32", "int64")
]


def sliced(
    X: Array, axes: list[int], starts: list[int], ends: list[int], strides: list[int] | None = None
) -> dict[str, Array]:
    parts = [slice(None)] * X.ndim
    for axis, *numbers in zip(axes, starts, ends, strides or [1] * len(axes), strict=True):
        parts[axis] = slice(*numbers)
    return {"Out": np.array(X[tuple(parts)])}


LOW, HIGH = -(2**63), 2**63 - 1
SLICED: list[tuple[tuple[int, ...], list[int], list[int], list[int]]] = [
    ((), [], [], []),
    ((1,), [0], [0], [1]),
    ((257,), [-1], [17], [200]),
    ((3, 5), [0], [1], [3]),
    ((3, 5), [1, 0], [-4, -2], [-1, HIGH]),
    ((3, 5), [1], [LOW], [2]),
    ((3, 5), [1], [4], [2]),
    ((3, 5), [0], [7], [9]),
    ((2, 3, 7), [2, 0], [1, 1], [4, 2]),
    ((0, 4), [0, 1], [0, 1], [2, 3]),
]
STRIDED: list[tuple[tuple[int, ...], list[int], list[int], list[int], list[int]]] = [
    *((*row, [1] * len(row[1])) for row in SLICED),
    ((257,), [0], [0], [257], [2]),
    ((257,), [0], [-1], [LOW], [-3]),
    ((3, 5), [0, 1], [0, 4], [3, 0], [2, -2]),
    ((3, 5), [0, 1], [-1, -1], [LOW, LOW], [-1, -1]),
    ((3, 5), [1], [9], [-9], [-4]),
    ((3, 5), [1], [1], [3], [-1]),
    ((3, 5), [1], [1], [HIGH], [HIGH]),
    ((3, 5), [1], [3], [LOW], [LOW]),
    ((2, 3, 7), [2, 1], [1, 2], [7, LOW], [3, -1]),
    ((0, 4), [0, 1], [-1, 3], [LOW, 0], [-1, -2]),
]
CASES += [
    OpCase("slice", {"X": normal(*x)}, sliced, {"axes": axes, "starts": starts, "ends": ends})
    for x, axes, starts, ends in SLICED
] + [
    OpCase(
        "strided_slice",
        {"X": normal(*x)},
        sliced,
        {"axes": axes, "starts": starts, "ends": ends, "strides": strides},
    )
    for x, axes, starts, ends, strides in STRIDED
]
CASES += [
    OpCase(
        "strided_slice",
        {"X": integers(0, 2, 3, 5).astype(dtype)},
        sliced,
        {"axes": [0, 1], "starts": [2, 0], "ends": [LOW, 5], "strides": [-1, 2]},
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


@pytest.mark.parametrize(
    "attrs",
    [
        {"offsets": [1, 1], "shape": [2, 2]},
        {"offsets": [0, -1], "shape": [2, 2]},
        {"offsets": [0, 0], "shape": [-1, 2]},
        {"offsets": [0, 0], "shape": [2]},
        {"offsets": [0], "shape": [2, 2]},
        {"offsets": [0, 2**63 - 1], "shape": [2, 1]},
        {"offsets": [0, 0]},
    ],
)
def test_a_part_outside_is_an_error(attrs: dict[str, Any]) -> None:
    shape = str(attrs.get("shape", [])).replace("[", r"\[").replace("]", r"\]")
    offsets = str(attrs["offsets"]).replace("[", r"\[").replace("]", r"\]")
    message = (
        r"^crop: offsets and shape must lie in X in every dimension, got X \[2, 3\], "
        rf"shape {shape}, offsets {offsets}$"
    )
    with pytest.raises(ValueError, match=message):
        run_op("crop", {"X": normal(2, 3)}, attrs)


def test_a_part_of_an_unknown_extent_is_of_the_extent_that_was_asked_for() -> None:
    one = one_op("abs", {"X": normal(2, 3)})
    one.block.var("x").set_shape([-1, 3])
    attrs = {"offsets": [1, 0], "shape": [1, 2]}
    one.block.add_op("crop", {"X": ["x"]}, {"Out": ["cropped"]}, attrs)
    assert one.block.var("cropped").shape() == [1, 2]
    np.testing.assert_array_equal(one.run(["cropped"])[0], normal(2, 3)[1:, :2])


def test_every_slice_of_a_row_is_that_of_numpy() -> None:
    x = np.arange(4)
    for start, end in itertools.product(range(-6, 7), repeat=2):
        for stride in (-3, -2, -1, 1, 2, 3):
            attrs = {"axes": [0], "starts": [start], "ends": [end], "strides": [stride]}
            out = run_op("strided_slice", {"X": x}, attrs)["Out"]
            np.testing.assert_array_equal(out, x[start:end:stride], err_msg=str(attrs))


@pytest.mark.parametrize(
    ("op_type", "attrs", "message"),
    [
        (
            "slice",
            {"axes": [0], "starts": [0, 1], "ends": [1]},
            r"starts and ends must hold a number for each of axes, got axes \[0\], "
            r"starts \[0, 1\], ends \[1\]$",
        ),
        (
            "strided_slice",
            {"axes": [0], "starts": [0], "ends": [1], "strides": []},
            r"starts, ends and strides must hold a number for each of axes, got axes \[0\], "
            r"starts \[0\], ends \[1\], strides \[\]$",
        ),
        (
            "slice",
            {"axes": [2], "starts": [0], "ends": [1]},
            r"axis must be in \[-2, 2\) for an input of rank 2, got 2$",
        ),
        (
            "slice",
            {"axes": [1, -1], "starts": [0, 0], "ends": [1, 1]},
            r"axes must name each dimension once, got \[1, -1\] for an input of rank 2$",
        ),
        (
            "strided_slice",
            {"axes": [0], "starts": [0], "ends": [1], "strides": [0]},
            r"strides must not be 0, got \[0\]$",
        ),
    ],
)
def test_a_bad_slice_is_an_error(op_type: str, attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{op_type}: {message}"):
        run_op(op_type, {"X": normal(2, 3)}, attrs)


def test_a_slice_of_an_unknown_extent_is_unknown() -> None:
    one = one_op("abs", {"X": normal(2, 3)})
    one.block.var("x").set_shape([-1, 3])
    attrs = {"axes": [0, 1], "starts": [1, 1], "ends": [9, 9]}
    one.block.add_op("slice", {"X": ["x"]}, {"Out": ["part"]}, attrs)
    assert one.block.var("part").shape() == [-1, 2]
    np.testing.assert_array_equal(one.run(["part"])[0], normal(2, 3)[1:, 1:])
