"""top_k, argmax, argmin and argsort against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, distinct, integers, normal
from op_runner import Array, run_op


def top(X: Doubles, k: int = 1) -> dict[str, Array]:
    row = np.atleast_1d(X)
    order = np.argsort(-row, axis=-1, kind="stable")[..., :k].astype(np.int64)
    shape = order.shape if X.ndim else ()
    return {
        "Out": np.take_along_axis(row, order, -1).reshape(shape),
        "Indices": order.reshape(shape),
    }


def greatest(X: Array, axis: int = -1, keepdims: bool = False) -> dict[str, Array]:
    return {"Out": np.asarray(np.argmax(X, axis, keepdims=keepdims))}


def least(X: Array, axis: int = -1, keepdims: bool = False) -> dict[str, Array]:
    return {"Out": np.asarray(np.argmin(X, axis, keepdims=keepdims))}


def ordered(X: Array, axis: int = -1, descending: bool = False) -> dict[str, Array]:
    if X.ndim == 0:
        return {"Out": X, "Indices": np.zeros((), np.int64)}
    if descending:  # from the end of what is turned round, equal elements stay in their order
        turned = X.shape[axis] - 1 - np.argsort(np.flip(X, axis), axis, kind="stable")
        indices = np.flip(turned, axis)
    else:
        indices = np.argsort(X, axis, kind="stable")
    return {"Out": np.take_along_axis(X, indices, axis), "Indices": indices}


WHOLE = [
    normal(3, 5) > 0,
    *(integers(-4, 4, 3, 5).astype(dtype) for dtype in ("int16", "int32", "int64")),
]
DIMS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((5,), {}),
    ((1,), {}),
    ((0, 4), {}),
    ((3, 5), {"axis": 0}),
    ((2, 5, 3), {"axis": 1}),
    ((2, 3, 300), {"axis": -2}),
    ((257,), {"axis": 0}),
]
CASES = [
    OpCase("top_k", {"X": distinct()}, top),
    OpCase("top_k", {"X": distinct(5)}, top),
    OpCase("top_k", {"X": distinct(3, 5)}, top, {"k": 5}),
    OpCase("top_k", {"X": distinct(2, 3, 17)}, top, {"k": 3}),
    OpCase("top_k", {"X": distinct(257)}, top, {"k": 17}),
    OpCase("top_k", {"X": distinct(0, 4)}, top, {"k": 2}),
    OpCase("top_k", {"X": distinct(2, 0, 4)}, top, {"k": 1}),
    OpCase("top_k", {"X": np.array([[1.0, 3.0, 3.0, 0.0]])}, top, {"k": 3}, "ties", grad=[]),
    OpCase("top_k", {"X": integers(0, 9, 3, 5)}, top, {"k": 2}),
]
CASES += [
    OpCase(op_type, {"X": x}, formula, attrs, note=f"{x.dtype}")
    for op_type, formula in (("argmax", greatest), ("argmin", least))
    for x, attrs in [
        *((distinct(*shape), {**attrs, "keepdims": len(shape) == 2}) for shape, attrs in DIMS),
        *((x, {}) for x in WHOLE),
        (distinct(), {"axis": 0}),
        (distinct(), {"keepdims": True}),
    ]
]
CASES += [
    OpCase("argsort", {"X": x}, ordered, attrs, note=f"{x.dtype}")
    for x, attrs in [
        *((distinct(*shape), {**attrs, "descending": len(shape) > 1}) for shape, attrs in DIMS),
        *((x, {"descending": down}) for x in WHOLE for down in (False, True)),
        (distinct(4, 0), {}),
        (distinct(), {}),
        (distinct(), {"axis": 0, "descending": True}),
    ]
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_top_k_puts_nan_first() -> None:
    x = np.array([1.0, np.nan, 2.0], dtype=np.float32)
    np.testing.assert_array_equal(run_op("top_k", {"X": x}, {"k": 2})["Indices"], [1, 2])


def test_nan_is_found_first_and_sorted_as_the_greatest() -> None:
    x = np.array([1.0, np.nan, -2.0, np.nan], dtype=np.float32)
    for op_type, formula in (("argmax", greatest), ("argmin", least), ("argsort", ordered)):
        for slot, want in formula(x).items():
            np.testing.assert_array_equal(run_op(op_type, {"X": x})[slot], want)
    down = run_op("argsort", {"X": x}, {"descending": True})["Indices"]
    np.testing.assert_array_equal(down, [1, 3, 0, 2])


def test_what_cannot_be_ordered_is_an_error() -> None:
    message = r"top_k: k must be in \[1, last extent of X\], got k 4, X \[2, 3\]"
    with pytest.raises(ValueError, match=message):
        run_op("top_k", {"X": normal(2, 3)}, {"k": 4})
    with pytest.raises(ValueError, match=r"top_k: k must be in .* got k 2, X \[\]$"):
        run_op("top_k", {"X": normal()}, {"k": 2})
    for op_type in ("argmax", "argmin"):
        message = rf"^{op_type}: X must have an element along axis 1, got \[2, 0\]$"
        with pytest.raises(ValueError, match=message):
            run_op(op_type, {"X": normal(2, 0)})
    for op_type in ("argmax", "argmin", "argsort"):
        message = rf"^{op_type}: axis must be in \[-2, 2\) for an input of rank 2, got 2$"
        with pytest.raises(ValueError, match=message):
            run_op(op_type, {"X": normal(2, 3)}, {"axis": 2})
    with pytest.raises(ValueError, match=r"^argsort: axis must be in \[-1, 1\) .*, got 1$"):
        run_op("argsort", {"X": normal()}, {"axis": 1})
