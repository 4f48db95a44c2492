"""The operators of truth values and questions about tensors against NumPy."""

import numpy as np
import pytest
from binary_cases import SHAPES, expected
from op_case import OpCase, all_dtypes, check_outputs
from op_data import integers, normal
from op_runner import Array, run_op

from fluidcore import core

FORMULAS = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


def truths(*shape: int, seed: int = 0) -> Array:
    return integers(0, 2, *shape, seed=seed).astype(bool)


CASES = [
    OpCase(
        name,
        {"X": truths(*x), "Y": truths(*y, seed=1)},
        expected(formula),
        {} if axis == -1 else {"axis": axis},
    )
    for name, formula in FORMULAS.items()
    for x, y, axis in SHAPES
]
CASES += [
    OpCase("logical_not", {"X": truths(*shape)}, lambda X: {"Out": np.logical_not(X)})
    for shape in ((), (0, 3), (257,), (2, 3))
]
CASES += [
    OpCase("is_empty", {"X": x}, lambda X: {"Out": np.array([X.size == 0])}, note=str(x.dtype))
    for x in (normal(2, 3), normal(0, 3), normal(), integers(0, 9, 4), truths(0))
]
NUMBER_TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
EDGES = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -6e4])
CASES += [
    OpCase(name, {"X": x}, lambda X, test=test: {"Out": np.asarray(test(X))}, note=note)
    for name, test in NUMBER_TESTS.items()
    for x, note in (
        *((normal(*shape), "numbers") for shape in ((), (0, 3), (2, 3))),
        (np.tile(EDGES, 40).reshape(7, 40), "edges"),
    )
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@pytest.mark.parametrize("name", [*FORMULAS, *NUMBER_TESTS, "logical_not", "is_empty"])
def test_truths_are_constants_for_the_gradient(name: str) -> None:
    assert core.op_def(name).is_constant


@pytest.mark.parametrize("name", NUMBER_TESTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_largest_number_is_finite(name: str, dtype: str) -> None:
    x = np.array([np.finfo(dtype).max, np.finfo(dtype).tiny / 2], dtype=dtype)
    assert run_op(name, {"X": x})["Out"].tolist() == 2 * [name == "isfinite"]


def test_whole_numbers_are_not_asked_whether_they_are_nan() -> None:
    with pytest.raises(ValueError, match=r"isnan: no kernel for int64 on cpu; it has: float16 "):
        run_op("isnan", {"X": np.ones(2, dtype=np.int64)})
