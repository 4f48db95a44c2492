"""pad against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, one_op, run_op


def padded(
    X: Array, paddings: list[int], pad_value: float = 0.0, mode: Any = "constant"
) -> dict[str, Array]:
    pairs = list(zip(paddings[::2], paddings[1::2], strict=True))
    values: dict[str, Any] = {"constant_values": pad_value} if mode == "constant" else {}
    return {"Out": np.pad(X, pairs, mode=mode, **values) if X.ndim else X}


CHOICES: list[tuple[tuple[int, ...], list[int]]] = [
    ((), []),
    ((1,), [2, 3]),
    ((5,), [0, 0]),
    ((5,), [4, 3]),
    ((2,), [7, 9]),
    ((3,), [11, 13]),
    ((3, 5), [1, 0, 0, 2]),
    ((257,), [17, 200]),
    ((2, 3, 4), [1, 1, 2, 2, 3, 3]),
    ((2, 0), [3, 1, 0, 0]),
]
CASES = [
    OpCase("pad", {"X": normal(*shape)}, padded, {"paddings": paddings} | attrs)
    for shape, paddings in CHOICES
    for attrs in (
        {"pad_value": 1.5},
        {"mode": "edge"},
        {"mode": "reflect"},
        {"mode": "wrap"},
    )
]
CASES += [
    OpCase("pad", {"X": normal(2, 3)}, padded, {"paddings": [1, 2, 0, 1]}),
    OpCase("pad", {"X": normal(0, 3)}, padded, {"paddings": [1, 2, 0, 1]}),
]
CASES += [
    OpCase(
        "pad",
        {"X": integers(0, 2, 3, 5).astype(dtype)},
        padded,
        {"paddings": [1, 2, 0, 3], "pad_value": 1.0} | attrs,
        dtype,
    )
    for dtype in ("bool", "int16", "int32", "int64")
    for attrs in ({}, {"mode": "reflect"})
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(
    ("shape", "attrs", "message"),
    [
        (
            (2, 3),
            {"paddings": [1, 2]},
            r"paddings must hold two numbers for each dimension of X, got X \[2, 3\], "
            r"paddings \[1, 2\]$",
        ),
        (
            (2,),
            {"paddings": [1, -1]},
            r"paddings must be at least 0, got \[1, -1\]$",
        ),
        (
            (2,),
            {"paddings": [2**62, 2**62]},
            r"extents must have a sum that can be counted, got X \[2\], paddings ",
        ),
        (
            (2,),
            {"paddings": [2**63 - 1, 0]},
            r"extents must have a sum that can be counted, got X \[2\], paddings ",
        ),
        (
            (2, 0),
            {"paddings": [0, 0, 1, 0], "mode": "wrap"},
            r"X must have an element to repeat along axis 1, got X \[2, 0\], "
            r"paddings \[0, 0, 1, 0\], mode 'wrap'$",
        ),
        (
            (2,),
            {"paddings": [1, 1], "mode": "mirror"},
            r"attribute 'mode' must be one of constant, edge, reflect, wrap, got 'mirror'$",
        ),
    ],
)
def test_paddings_that_do_not_fit_are_an_error(
    shape: tuple[int, ...], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^pad: {message}"):
        run_op("pad", {"X": normal(*shape)}, attrs)


@pytest.mark.parametrize(("dtype", "value"), [("int32", 0.5), ("bool", 2.0), ("int16", 40000.0)])
def test_a_value_that_the_dtype_does_not_have_is_an_error(dtype: str, value: float) -> None:
    message = f"^pad: pad_value must be a whole number in the range of {dtype}, got "
    with pytest.raises(ValueError, match=message):
        run_op("pad", {"X": np.ones(2, dtype)}, {"paddings": [1, 1], "pad_value": value})


def test_an_unknown_extent_stays_unknown() -> None:
    one = one_op("abs", {"X": normal(2, 3)})
    one.block.var("x").set_shape([-1, 3])
    one.block.add_op("pad", {"X": ["x"]}, {"Out": ["padded"]}, {"paddings": [1, 1, 2, 2]})
    assert one.block.var("padded").shape() == [-1, 7]
