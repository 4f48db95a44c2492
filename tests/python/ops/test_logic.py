"""The operators of truth values, and is_empty, against NumPy."""

import numpy as np
import pytest
from binary_cases import SHAPES, expected
from op_case import OpCase, all_dtypes, check_outputs
from op_data import integers, normal
from op_runner import Array

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


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@pytest.mark.parametrize("name", [*FORMULAS, "logical_not", "is_empty"])
def test_truths_are_constants_for_the_gradient(name: str) -> None:
    assert core.op_def(name).is_constant
