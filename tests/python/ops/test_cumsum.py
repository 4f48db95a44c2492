"""Cumulative sums against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, run_op


def cumsum(
    X: Array, axis: int = -1, exclusive: bool = False, reverse: bool = False
) -> dict[str, Array]:
    x = X.reshape(1) if X.ndim == 0 else X
    x = np.flip(x, axis) if reverse else x
    out = np.cumsum(x, axis, dtype=X.dtype)
    out = out - x if exclusive else out
    return {"Out": (np.flip(out, axis) if reverse else out).reshape(X.shape)}


CHOICES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((0, 4), {}),
    ((4, 0), {"axis": 1}),
    ((0, 4), {"axis": 0}),
    ((257,), {"axis": 0}),
    ((3, 5), {}),
    ((3, 5), {"axis": 0}),
    ((3, 5), {"axis": -2, "reverse": True}),
    ((2, 3, 7), {"axis": 1, "exclusive": True}),
    ((2, 3, 7), {"axis": 1, "exclusive": True, "reverse": True}),
    ((3, 2, 300), {"axis": 1}),
    ((), {"exclusive": True}),
]
CASES = [OpCase("cumsum", {"X": normal(*shape)}, cumsum, attrs) for shape, attrs in CHOICES] + [
    OpCase(
        "cumsum", {"X": integers(-9, 9, 3, 5).astype(dtype)}, cumsum, {"reverse": True}, note=dtype
    )
    for dtype in ("int32", "int64")
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_wrap_around(dtype: str) -> None:
    high = np.iinfo(dtype).max
    x = np.array([high, 1, -1, 5], dtype=dtype)
    np.testing.assert_array_equal(run_op("cumsum", {"X": x})["Out"], np.cumsum(x, dtype=dtype))


def test_infinities_and_nan_stay_in_the_sums_that_hold_them() -> None:
    x = np.array([1.0, np.inf, 2.0, -np.inf, 3.0])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(run_op("cumsum", {"X": x})["Out"], np.cumsum(x))
    out = run_op("cumsum", {"X": x}, {"exclusive": True})["Out"]
    np.testing.assert_array_equal(out, [0, 1, np.inf, np.inf, np.nan])


def test_a_long_sum_is_rounded_once() -> None:
    x = np.full(100_000, 0.1, dtype=np.float32)
    out = run_op("cumsum", {"X": x})["Out"]
    np.testing.assert_array_equal(out, np.cumsum(x, dtype=np.float64).astype(np.float32))


def test_one_thread_and_two_give_the_same_sums() -> None:
    x = normal(64, 33, 70).astype(np.float32)
    for axis in range(3):
        one, two = (run_op("cumsum", {"X": x}, {"axis": axis}, threads=n)["Out"] for n in (1, 2))
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(("shape", "axis"), [((2, 3), 2), ((2, 3), -3), ((), 1)])
def test_an_axis_out_of_range_is_an_error(shape: tuple[int, ...], axis: int) -> None:
    rank = max(len(shape), 1)
    message = rf"cumsum: axis must be in \[-{rank}, {rank}\) .*, got {axis}"
    with pytest.raises(ValueError, match=message):
        run_op("cumsum", {"X": normal(*shape)}, {"axis": axis})


def test_truth_values_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"cumsum: no kernel for bool on cpu; it has: "):
        run_op("cumsum", {"X": np.ones(3, dtype=bool)})
