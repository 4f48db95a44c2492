"""Factors, solutions, inverses and determinants of matrices, against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import normal
from op_runner import Array, run_op

from fluidcore import core


def definite(*shape: int, seed: int = 0) -> Array:
    """Symmetric matrices without small eigenvalues."""
    x = normal(*shape, seed=seed)
    return x @ np.swapaxes(x, -1, -2) / max(shape[-1], 1) + np.eye(shape[-1])


def invertible(*shape: int, seed: int = 0) -> Array:
    """Matrices without small singular values, that need their rows exchanged."""
    x = 0.3 * normal(*shape, seed=seed) / max(shape[-1], 1) ** 0.5 + np.eye(shape[-1])
    return np.roll(x, 1, axis=-2)


def cholesky(X: Array) -> dict[str, Array]:
    symmetric = (X + np.swapaxes(X, -1, -2)) / 2
    return {"Out": np.linalg.cholesky(symmetric) if X.size else X}


def triangular_solve(
    X: Array, Y: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> dict[str, Array]:
    a = np.triu(X) if upper else np.tril(X)
    if unitriangular:
        a = np.triu(a, 1) + np.tril(a, -1) + np.eye(X.shape[-1])
    return {"Out": np.linalg.solve(np.swapaxes(a, -1, -2) if transpose else a, Y)}


def slogdet(X: Array) -> dict[str, Array]:
    sign, out = np.linalg.slogdet(X)
    return {"Sign": np.asarray(sign), "Out": np.asarray(out)}


SQUARE = [(1, 1), (3, 3), (17, 17), (2, 3, 3), (2, 1, 4, 4), (0, 3, 3), (2, 0, 0)]
SOLVED: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 3), (3, 2)),
    ((1, 1), (1, 1)),
    ((2, 4, 4), (2, 4, 1)),
    ((0, 3, 3), (0, 3, 2)),
    ((3, 3), (5, 3, 2)),
    ((5, 3, 3), (3, 2)),
    ((2, 1, 3, 3), (4, 3, 2)),
    ((1, 3, 3), (0, 3, 2)),
]
CASES = [
    *[OpCase("cholesky", {"X": definite(*shape)}, cholesky) for shape in SQUARE],
    OpCase("cholesky", {"X": definite(3, 3) + 0.1 * normal(3, 3)}, cholesky, note="not symmetric"),
    *[
        OpCase("triangular_solve", {"X": definite(*x), "Y": normal(*y)}, triangular_solve, attrs)
        for x, y in SOLVED
        for attrs in (
            {},
            {"upper": False},
            {"transpose": True},
            {"upper": False, "transpose": True, "unitriangular": True},
            {"unitriangular": True},
        )
    ],
    OpCase("triangular_solve", {"X": definite(3, 3), "Y": normal(3, 0)}, triangular_solve),
    *[
        OpCase(name, {"X": invertible(*shape)}, formula)
        for name, formula in (
            ("inverse", lambda X: {"Out": np.linalg.inv(X)}),
            ("det", lambda X: {"Out": np.asarray(np.linalg.det(X))}),
            ("slogdet", slogdet),
        )
        for shape in SQUARE
    ],
    *[
        OpCase("matrix_transpose", {"X": normal(*shape)}, lambda X: {"Out": np.swapaxes(X, -1, -2)})
        for shape in [(3, 5), (1, 1), (2, 3, 4), (0, 3, 2), (2, 3, 4, 5)]
    ],
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_a_matrix_that_needs_its_rows_exchanged_has_an_inverse() -> None:
    x = np.array([[0.0, 1.0], [2.0, 0.0]])
    np.testing.assert_array_equal(run_op("inverse", {"X": x})["Out"], [[0, 0.5], [1, 0]])
    assert run_op("det", {"X": x})["Out"] == -2


def test_the_logarithm_of_a_determinant_does_not_overflow() -> None:
    results = run_op("slogdet", {"X": -1e30 * np.eye(31)})
    assert results["Sign"] == -1
    np.testing.assert_allclose(results["Out"], 31 * 30 * np.log(10), rtol=1e-14)


def test_a_singular_matrix_has_the_determinant_0() -> None:
    x = np.ones((2, 2))
    assert run_op("det", {"X": x})["Out"] == 0
    results = run_op("slogdet", {"X": x})
    assert (results["Sign"], results["Out"]) == (0, -np.inf)


@pytest.mark.parametrize(("upper", "other"), [(True, "tril"), (False, "triu")])
def test_the_other_triangle_is_not_read(upper: bool, other: str) -> None:
    x = definite(4, 4)
    spoiled = np.where(getattr(np, other)(np.ones((4, 4)), -1 if upper else 1) > 0, np.nan, x)
    given = {"Y": normal(4, 2)}
    want = run_op("triangular_solve", {"X": x, **given}, {"upper": upper})["Out"]
    got = run_op("triangular_solve", {"X": spoiled, **given}, {"upper": upper})["Out"]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op_type", ["cholesky", "inverse", "det", "slogdet"])
def test_one_thread_and_two_give_the_same_results(op_type: str) -> None:
    x = definite(50, 20, 20).astype(np.float32)
    one, two = (run_op(op_type, {"X": x}, threads=n)["Out"] for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("op_type", ["cholesky", "inverse", "det", "slogdet"])
def test_an_extent_that_is_known_once_is_known_twice(op_type: str) -> None:
    block = core.ProgramDesc().block(0)
    variable = block.var("x")
    variable.set_shape([-1, -1, 3])
    variable.set_dtype("float32")
    outputs = {slot.name: [slot.name.lower()] for slot in core.op_def(op_type).outputs}
    block.add_op(op_type, {"X": ["x"]}, outputs, {})
    wanted = [-1, 3, 3] if op_type in ("cholesky", "inverse") else [-1]
    assert list(block.var("out").shape()) == wanted


def test_a_broadcast_batch_with_extents_that_are_not_known() -> None:
    block = core.ProgramDesc().block(0)
    for name, shape in (("x", [-1, 3]), ("y", [-1, -1, 2])):
        block.var(name).set_shape(shape)
        block.var(name).set_dtype("float32")
    block.add_op("triangular_solve", {"X": ["x"], "Y": ["y"]}, {"Out": ["out"]}, {})
    assert list(block.var("out").shape()) == [-1, 3, 2]


@pytest.mark.parametrize(
    ("op_type", "inputs", "message"),
    [
        *[
            (name, {"X": normal(2, 3)}, r"X must have shape \[..., n, n\], got \[2, 3\]")
            for name in ("cholesky", "inverse", "det", "slogdet")
        ],
        ("inverse", {"X": normal(3)}, r"X must have shape \[..., n, n\], got \[3\]"),
        (
            "cholesky",
            {"X": np.stack([np.eye(2), -np.eye(2)])},
            "X must be positive definite, got a matrix that is not, at position 1",
        ),
        (
            "cholesky",
            {"X": np.full((2, 2), np.nan)},
            "X must be positive definite, got a matrix that is not, at position 0",
        ),
        (
            "inverse",
            {"X": np.stack([np.eye(2), np.ones((2, 2))])},
            "X must be invertible, got a singular matrix at position 1",
        ),
        (
            "triangular_solve",
            {"X": normal(2, 3, 3), "Y": normal(2, 2)},
            r"Y must have shape \[..., n, k\] for X \[2, 3, 3\], got \[2, 2\]",
        ),
        (
            "triangular_solve",
            {"X": normal(3, 3), "Y": normal(3)},
            r"Y must have shape \[..., n, k\] for X \[3, 3\], got \[3\]",
        ),
        (
            "triangular_solve",
            {"X": normal(2, 3, 3), "Y": normal(4, 3, 2)},
            r"the batches of X and Y must have equal extents or 1 in every dimension, got X "
            r"\[2, 3, 3\], Y \[4, 3, 2\]",
        ),
        (
            "triangular_solve",
            {"X": normal(3, 3), "Y": normal(3, 2).astype(np.float32)},
            "X and Y must have the same dtype, got X float64",
        ),
        ("matrix_transpose", {"X": normal(3)}, r"X must have rank 2 or more, got \[3\]"),
    ],
)
def test_matrices_that_do_not_fit_are_errors(
    op_type: str, inputs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"{op_type}: {message}"):
        run_op(op_type, inputs)
