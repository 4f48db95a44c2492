"""softmax and log_softmax against NumPy."""

import numpy as np
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op


def softmax(X: Doubles) -> dict[str, Doubles]:
    if X.size == 0:
        return {"Out": X}
    shifted = np.exp(X - X.max(axis=-1, keepdims=True))
    return {"Out": shifted / shifted.sum(axis=-1, keepdims=True)}


def log_softmax(X: Doubles) -> dict[str, Doubles]:
    if X.size == 0:
        return {"Out": X}
    shifted = X - X.max(axis=-1, keepdims=True)
    return {"Out": shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))}


FORMULAS = {"softmax": softmax, "log_softmax": log_softmax}
CASES = [
    OpCase(name, {"X": normal(*shape)}, formula)
    for name, formula in FORMULAS.items()
    for shape in [(), (1,), (5,), (257,), (3, 5), (17, 10), (2, 3, 7), (4, 1), (0, 4), (4, 0)]
]
CASES += [
    OpCase(name, {"X": normal(3, 5) + 1e4}, formula, note="large", dtypes=["float64"])
    for name, formula in FORMULAS.items()
]
CASES += [
    OpCase(name, {"X": 30 * normal(3, 5)}, formula, note="spread")
    for name, formula in FORMULAS.items()
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_softmax_of_far_apart_logits_neither_overflows_nor_is_nan() -> None:
    x = np.array([[1000.0, 0.0], [-1000.0, -np.inf]], dtype=np.float32)
    out = run_op("softmax", {"X": x})["Out"]
    np.testing.assert_array_equal(out, np.array([[1, 0], [1, 0]], dtype=np.float32))


def test_log_softmax_of_far_apart_logits_is_exact() -> None:
    x = np.array([[1000.0, 0.0], [-1000.0, -np.inf]], dtype=np.float32)
    out = run_op("log_softmax", {"X": x})["Out"]
    np.testing.assert_array_equal(out, np.array([[0, -1000], [0, -np.inf]], dtype=np.float32))
