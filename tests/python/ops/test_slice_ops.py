"""crop against NumPy."""

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
