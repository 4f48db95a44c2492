"""lookup_table, lookup_table_v2 and top_k against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, distinct, integers, normal
from op_runner import Array, run_op


def rows(
    W: Doubles, Ids: Array, padding_idx: int = -1, is_sparse: bool = False
) -> dict[str, Array]:
    out = W[np.where(Ids == padding_idx, 0, Ids)]
    out[(Ids == padding_idx) & (padding_idx != -1)] = 0
    return {"Out": out}


def lookup(W: Doubles, Ids: Array, **attrs: Any) -> dict[str, Array]:
    return rows(W, Ids[..., 0], **attrs)


def top(X: Doubles, k: int = 1) -> dict[str, Array]:
    order = np.argsort(-X, axis=-1, kind="stable")[..., :k]
    return {"Out": np.take_along_axis(X, order, -1), "Indices": order.astype(np.int64)}


CASES = [
    OpCase("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 5, 1)}, lookup),
    OpCase("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 1)}, lookup),
    OpCase(
        "lookup_table", {"W": normal(17, 5), "Ids": integers(0, 17, 257, 1)}, lookup, note="often"
    ),
    OpCase("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 2, 4, 1)}, lookup),
    OpCase("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 0, 1)}, lookup),
    OpCase("lookup_table", {"W": normal(7, 0), "Ids": integers(0, 7, 5, 1)}, lookup),
    OpCase(
        "lookup_table",
        {"W": normal(7, 3), "Ids": np.array([[2], [0], [2]])},
        lookup,
        {"padding_idx": 2},
    ),
    OpCase(
        "lookup_table", {"W": normal(7, 3), "Ids": np.array([[9], [0]])}, lookup, {"padding_idx": 9}
    ),
    OpCase(
        "lookup_table",
        {"W": normal(7, 3), "Ids": integers(0, 7, 5, 1)},
        lookup,
        {"is_sparse": True},
    ),
    *[
        OpCase("lookup_table_v2", {"W": normal(7, 3), "Ids": integers(0, 7, *shape)}, rows)
        for shape in ((), (5,), (5, 1), (2, 4), (2, 3, 1, 4), (0, 2))
    ],
    OpCase(
        "lookup_table_v2",
        {"W": normal(7, 3), "Ids": np.array([[2, 0], [2, 5]])},
        rows,
        {"padding_idx": 2, "is_sparse": True},
    ),
    OpCase("top_k", {"X": distinct(5)}, top),
    OpCase("top_k", {"X": distinct(3, 5)}, top, {"k": 5}),
    OpCase("top_k", {"X": distinct(2, 3, 17)}, top, {"k": 3}),
    OpCase("top_k", {"X": distinct(257)}, top, {"k": 17}),
    OpCase("top_k", {"X": distinct(0, 4)}, top, {"k": 2}),
    OpCase("top_k", {"X": distinct(2, 0, 4)}, top, {"k": 1}),
    OpCase("top_k", {"X": np.array([[1.0, 3.0, 3.0, 0.0]])}, top, {"k": 3}, "ties", grad=[]),
    OpCase("top_k", {"X": integers(0, 9, 3, 5)}, top, {"k": 2}),
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


def test_the_gradient_of_tied_elements_goes_to_the_first() -> None:
    x = np.array([[1.0, 3.0, 3.0, 1.0]], dtype=np.float32)
    indices = run_op("top_k", {"X": x}, {"k": 3})["Indices"]
    inputs = {"X": x, "Indices": indices, "Out@GRAD": np.array([[5.0, 6.0, 7.0]], np.float32)}
    np.testing.assert_array_equal(
        run_op("top_k_grad", inputs, {"k": 3})["X@GRAD"], [[7.0, 5.0, 6.0, 0.0]]
    )


@pytest.mark.parametrize("bad", [5, -1, 2**40])
@pytest.mark.parametrize(
    ("op_type", "slot", "shape"),
    [("top_k_grad", "Out@GRAD", (3, 2)), ("top_k_grad_grad", "X@GRAD@GRAD", (3, 5))],
)
def test_indices_that_name_no_element_are_an_error(
    op_type: str, slot: str, shape: tuple[int, ...], bad: int
) -> None:
    indices = np.array([[0, 1], [4, bad], [2, 2]])
    message = rf"{op_type}: Indices must be in \[0, 5\), got {bad} at position 3"
    with pytest.raises(ValueError, match=message):
        run_op(op_type, {"X": normal(3, 5), "Indices": indices, slot: normal(*shape)}, {"k": 2})


def test_an_element_that_is_named_twice_gets_both_gradients() -> None:
    inputs = {"X": normal(1, 3), "Indices": np.array([[2, 2]]), "Out@GRAD": np.array([[1.0, 4.0]])}
    grad = run_op("top_k_grad", inputs, {"k": 2})["X@GRAD"]
    np.testing.assert_array_equal(grad, [[0.0, 0.0, 5.0]])


@pytest.mark.parametrize("bad", [7, -1, 2**40])
def test_an_index_out_of_range_is_an_error_that_names_its_place(bad: int) -> None:
    ids = np.array([[0], [bad], [3]])
    message = rf"lookup_table: Ids must be in \[0, 7\), got {bad} at position 1"
    with pytest.raises(ValueError, match=message):
        run_op("lookup_table", {"W": normal(7, 3), "Ids": ids})
    inputs = {"W": normal(7, 3), "Ids": ids, "Out@GRAD": normal(3, 3)}
    with pytest.raises(ValueError, match=message.replace("table:", "table_grad:")):
        run_op("lookup_table_grad", inputs)


def test_wrong_shapes_and_dtypes_are_errors() -> None:
    ids = integers(0, 7, 5, 1)
    with pytest.raises(ValueError, match=r"lookup_table: W must be \[rows, width\], got \[7\]"):
        run_op("lookup_table", {"W": normal(7), "Ids": ids})
    message = r"lookup_table: Ids must be int64, got int32; write cast\(ids, 'int64'\)"
    with pytest.raises(ValueError, match=message):
        run_op("lookup_table", {"W": normal(7, 3), "Ids": ids.astype(np.int32)})
    message = (
        r"lookup_table: the last extent of Ids must be 1, got \[5, 2\]; "
        "lookup_table_v2 and layers.embedding take any shape"
    )
    with pytest.raises(ValueError, match=message):
        run_op("lookup_table", {"W": normal(7, 3), "Ids": integers(0, 7, 5, 2)})
    message = r"top_k: k must be in \[1, last extent of X\], got k 4, X \[2, 3\]"
    with pytest.raises(ValueError, match=message):
        run_op("top_k", {"X": normal(2, 3)}, {"k": 4})
    with pytest.raises(ValueError, match="top_k: X must have a last dimension, got a scalar"):
        run_op("top_k", {"X": normal()})


def test_a_gradient_of_top_k_that_does_not_fit_is_an_error() -> None:
    x, indices, grad = normal(2, 3), integers(0, 3, 2, 2), normal(2, 2)
    for changed, message in (
        ({"Indices": indices[:1]}, r"Indices must have shape \[2, 2\], got \[1, 2\]"),
        ({"Indices": indices.astype(np.int32)}, "Indices must be int64, got int32"),
        ({"Out@GRAD": normal(2, 3)}, r"Out@GRAD must have shape \[2, 2\], got \[2, 3\]"),
        ({"X": integers(0, 9, 2, 3)}, "Out@GRAD must be int64, got float64"),
        ({"X": normal()}, "X must have a last dimension, got a scalar"),
    ):
        inputs = {"X": x, "Indices": indices, "Out@GRAD": grad, **changed}
        with pytest.raises(ValueError, match=f"top_k_grad: {message}"):
            run_op("top_k_grad", inputs, {"k": 2})
