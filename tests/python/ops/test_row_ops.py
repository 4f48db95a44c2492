"""Choosing between tensors and between rows, against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import normal
from op_runner import Array, run_op

from fluidcore import core


def selected(X: list[Array], Mask: Array) -> dict[str, Array]:
    return {"Out": X[int(Mask.item())]}


def split(X: Array, Mask: Array, level: int = 0) -> dict[str, Array]:
    mask = Mask.reshape(-1)
    return {"OutTrue": X[mask], "OutFalse": X[~mask]}


def merged(
    X: Array, Mask: Array, InTrue: Array, InFalse: Array, level: int = 0
) -> dict[str, Array]:
    mask = Mask.reshape(-1)
    out = np.empty((len(X), *InTrue.shape[1:]), InTrue.dtype)
    out[mask], out[~mask] = InTrue, InFalse
    return {"Out": out}


MASKS = {
    "mixed": np.array([True, False, False, True, True]),
    "all": np.ones(5, dtype=bool),
    "none": np.zeros((5, 1), dtype=bool),
}
CASES = [
    OpCase(
        "select_input",
        {"X": [normal(*shape, seed=i) for i in range(3)], "Mask": np.array([mask], dtype=dtype)},
        selected,
        note=f"{dtype} {mask}",
    )
    for shape in ((), (0, 2), (3, 5))
    for dtype, mask in (("int64", 0), ("int32", 2))
]
CASES += [
    OpCase("split_lod_tensor", {"X": normal(*shape), "Mask": mask}, split, note=note)
    for shape in ((5,), (5, 3), (5, 0), (5, 2, 3))
    for note, mask in MASKS.items()
]
CASES += [
    OpCase(
        "merge_lod_tensor",
        {
            "X": normal(5, 2),
            "Mask": mask,
            "InTrue": normal(int(mask.sum()), *row, seed=1),
            "InFalse": normal(5 - int(mask.sum()), *row, seed=2),
        },
        merged,
        note=f"{note} {list(row)}",
        grad=["InTrue", "InFalse"],
    )
    for row in ((), (3,), (0,))
    for note, mask in MASKS.items()
]
EMPTY = np.zeros(0, dtype=bool)
CASES += [
    OpCase("split_lod_tensor", {"X": normal(0, 2), "Mask": EMPTY}, split, {"level": 1}),
    OpCase(
        "merge_lod_tensor",
        {"X": normal(0, 2), "Mask": EMPTY, "InTrue": normal(0, 2), "InFalse": normal(0, 2)},
        merged,
        {"level": 1},
        grad=["InTrue", "InFalse"],
    ),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("mask", [-1, 2, 2**40])
def test_a_position_that_there_is_not_is_refused(mask: int) -> None:
    x = normal(2)
    message = rf"select_input: Mask must be the position of one of X, in \[0, 2\), got {mask}"
    with pytest.raises(core.InvalidArgument, match=message):
        run_op("select_input", {"X": [x, x.copy()], "Mask": np.array([mask])})
