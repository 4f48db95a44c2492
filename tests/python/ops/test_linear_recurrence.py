"""linear_recurrence, element after element."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import normal
from op_runner import Array, run_op


def recurrence(X: Array, Y: Array, axis: int = -1, reverse: bool = False) -> dict[str, Array]:
    if X.ndim == 0:
        return {"Out": Y}
    x, y = (np.moveaxis(a, axis, 0)[:: -1 if reverse else 1] for a in (X, Y))
    out = np.array(y)
    for i in range(1, len(x)):
        out[i] = x[i] * out[i - 1] + y[i]
    return {"Out": np.moveaxis(out[:: -1 if reverse else 1], 0, axis)}


CHOICES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((0, 4), {}),
    ((4, 0), {"axis": 1}),
    ((), {}),
    ((257,), {"axis": 0}),
    ((3, 5), {}),
    ((3, 5), {"axis": 0, "reverse": True}),
    ((2, 3, 7), {"axis": 1}),
    ((2, 3, 7), {"axis": -2, "reverse": True}),
    ((3, 2, 300), {"axis": 1}),
]
CASES = [
    OpCase(
        "linear_recurrence",
        {"X": 0.5 * normal(*shape), "Y": normal(*shape, seed=1)},
        recurrence,
        attrs,
    )
    for shape, attrs in CHOICES
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_the_first_factor_counts_for_nothing() -> None:
    inputs = {"X": np.array([np.nan, 2.0]), "Y": np.array([3.0, 4.0])}
    out = run_op("linear_recurrence", inputs)["Out"]
    np.testing.assert_array_equal(out, [3.0, 10.0])
    inputs = {"X": inputs["X"], "Out": out, "Out@GRAD": np.ones(2)}
    grads = run_op("linear_recurrence_grad", inputs)
    np.testing.assert_array_equal(grads["X@GRAD"], [0.0, 3.0])
    np.testing.assert_array_equal(grads["Y@GRAD"], [3.0, 1.0])


def test_what_is_carried_on_is_not_rounded() -> None:
    x = np.full(1000, 0.999, np.float32)
    y = np.full(1000, 0.1, np.float32)
    out = run_op("linear_recurrence", {"X": x, "Y": y})["Out"]
    wanted = recurrence(x.astype(np.float64), y.astype(np.float64))["Out"]
    np.testing.assert_array_equal(out, wanted.astype(np.float32))


def test_an_axis_out_of_range_and_another_shape_are_errors() -> None:
    message = r"^linear_recurrence: axis must be in \[-2, 2\) for an input of rank 2, got 2$"
    with pytest.raises(ValueError, match=message):
        run_op("linear_recurrence", {"X": normal(2, 3), "Y": normal(2, 3)}, {"axis": 2})
    message = r"^linear_recurrence: Y must have shape \[2, 3\], got \[3\]$"
    with pytest.raises(ValueError, match=message):
        run_op("linear_recurrence", {"X": normal(2, 3), "Y": normal(3)})
