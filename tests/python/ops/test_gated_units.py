"""lstm_unit and gru_cell against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op


def sigmoid(x: Doubles) -> Doubles:
    return 1 / (1 + np.exp(-x))


def lstm_unit(X: Doubles, C_prev: Doubles, forget_bias: float = 0.0) -> dict[str, Doubles]:
    i, f, o, j = np.split(X, 4, axis=1)
    cell = sigmoid(f + forget_bias) * C_prev + sigmoid(i) * np.tanh(j)
    return {"C": cell, "H": sigmoid(o) * np.tanh(cell)}


def gru_cell(X: Doubles, Recurrent: Doubles, HiddenPrev: Doubles) -> dict[str, Doubles]:
    (xu, xr, xc), (ru, rr, rc) = np.split(X, 3, axis=1), np.split(Recurrent, 3, axis=1)
    update = sigmoid(xu + ru)
    candidate = np.tanh(xc + sigmoid(xr + rr) * rc)
    return {"Hidden": (1 - update) * HiddenPrev + update * candidate}


def lstm_case(batch: int, size: int, **attrs: float) -> OpCase:
    inputs = {"X": normal(batch, 4 * size), "C_prev": normal(batch, size, seed=1)}
    return OpCase("lstm_unit", inputs, lstm_unit, attrs)


def gru_case(batch: int, size: int) -> OpCase:
    inputs = {
        "X": normal(batch, 3 * size),
        "Recurrent": normal(batch, 3 * size, seed=1),
        "HiddenPrev": normal(batch, size, seed=2),
    }
    return OpCase("gru_cell", inputs, gru_cell)


SIZES = [(1, 1), (2, 3), (3, 37), (0, 4)]
CASES = [
    *(lstm_case(*size) for size in SIZES),
    lstm_case(2, 3, forget_bias=1.5),
    *(gru_case(*size) for size in SIZES),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_gates_that_are_closed_let_nothing_pass() -> None:
    x = np.array([[-np.inf, np.inf, np.inf, 5.0]])
    outputs = run_op("lstm_unit", {"X": x, "C_prev": np.array([[0.25]])})
    np.testing.assert_array_equal(outputs["C"], [[0.25]])
    np.testing.assert_allclose(outputs["H"], [[np.tanh(0.25)]], rtol=1e-15)
    gates = {"X": np.array([[-np.inf, 0.0, 7.0]]), "Recurrent": np.zeros((1, 3))}
    hidden = run_op("gru_cell", {**gates, "HiddenPrev": np.array([[0.5]])})["Hidden"]
    np.testing.assert_array_equal(hidden, [[0.5]])


@pytest.mark.parametrize(
    ("x", "state", "message"),
    [
        ((2, 9), (2, 3), r"X must have shape \[batch, 4 size\], where C_prev is \[2, 3\], got"),
        ((3, 12), (2, 3), r"X must have shape \[batch, 4 size\], where C_prev is \[2, 3\], got"),
        ((2, 12), (6,), r"C_prev must have rank 2 \[batch, size\], got \[6\]"),
        ((2, 0), (2, 0), r"C_prev must have a size of at least 1, got \[2, 0\]"),
    ],
)
def test_gates_that_do_not_fit_are_an_error(
    x: tuple[int, ...], state: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^lstm_unit: {message}"):
        run_op("lstm_unit", {"X": normal(*x), "C_prev": normal(*state)})


def test_recurrent_gates_that_do_not_fit_are_an_error() -> None:
    inputs = {"X": normal(2, 9), "Recurrent": normal(2, 6), "HiddenPrev": normal(2, 3)}
    message = (
        r"^gru_cell: Recurrent must have shape \[batch, 3 size\], where HiddenPrev is \[2, 3\], "
        r"got \[2, 6\]"
    )
    with pytest.raises(ValueError, match=message):
        run_op("gru_cell", inputs)
