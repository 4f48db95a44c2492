"""mul and matmul against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import Doubles, normal
from op_runner import run_op

from fluidcore.base.dtypes import numpy_dtype


def mul(
    X: Doubles, Y: Doubles, x_num_col_dims: int = 1, y_num_col_dims: int = 1
) -> dict[str, Doubles]:
    rows, inner = X.shape[:x_num_col_dims], int(np.prod(X.shape[x_num_col_dims:]))
    cols = Y.shape[y_num_col_dims:]
    left = X.reshape(int(np.prod(rows)), inner)
    return {"Out": (left @ Y.reshape(inner, int(np.prod(cols)))).reshape(rows + cols)}


def matmul(
    X: Doubles, Y: Doubles, transpose_X: bool = False, transpose_Y: bool = False
) -> dict[str, Doubles]:
    left = X[None] if X.ndim == 1 else X
    right = Y[:, None] if Y.ndim == 1 else Y
    out = np.matmul(
        np.swapaxes(left, -1, -2) if transpose_X else left,
        np.swapaxes(right, -1, -2) if transpose_Y else right,
    )
    if X.ndim == 1 and not transpose_X:
        out = out[..., 0, :]
    if Y.ndim == 1 and not transpose_Y:
        out = out[..., 0]
    return {"Out": np.asarray(out)}


def case(op: Any, x: list[int], y: list[int], **attrs: Any) -> OpCase:
    return OpCase(op.__name__, {"X": normal(*x), "Y": normal(*y, seed=1)}, op, attrs)


SQUARE = normal(5, 5)
CASES = [
    case(mul, [1, 1], [1, 1]),
    case(mul, [3, 5], [5, 7]),
    case(mul, [17, 33], [33, 9]),
    case(mul, [2, 257], [257, 3]),
    case(mul, [2, 3, 5], [15, 4]),
    case(mul, [2, 3, 5], [5, 4], x_num_col_dims=2),
    case(mul, [2, 6], [2, 3, 5], y_num_col_dims=2),
    case(mul, [2, 3, 2, 3], [3, 2, 2, 2], x_num_col_dims=2, y_num_col_dims=2),
    case(mul, [0, 5], [5, 3]),
    case(mul, [2, 5], [5, 0]),
    case(mul, [2, 0], [0, 3]),
    OpCase("mul", {"X": SQUARE, "Y": SQUARE}, mul, note="one variable twice"),
    case(matmul, [3, 5], [5, 7]),
    case(matmul, [5, 3], [5, 7], transpose_X=True),
    case(matmul, [3, 5], [7, 5], transpose_Y=True),
    case(matmul, [5, 3], [7, 5], transpose_X=True, transpose_Y=True),
    case(matmul, [17, 33], [33, 9]),
    case(matmul, [5], [5]),
    case(matmul, [257], [257]),
    case(matmul, [5], [1, 3], transpose_X=True),
    case(matmul, [3, 1], [5], transpose_Y=True),
    case(matmul, [3], [5], transpose_X=True, transpose_Y=True),
    case(matmul, [5], [5, 3]),
    case(matmul, [3, 5], [5]),
    case(matmul, [2, 3, 5], [5]),
    case(matmul, [5], [2, 5, 3]),
    case(matmul, [2, 3, 5], [2, 5, 4]),
    case(matmul, [2, 5, 3], [2, 4, 5], transpose_X=True, transpose_Y=True),
    case(matmul, [2, 3, 5], [5, 4]),
    case(matmul, [3, 5], [2, 5, 4]),
    case(matmul, [2, 1, 3, 5], [4, 5, 2]),
    case(matmul, [0, 5], [5, 3]),
    case(matmul, [2, 0], [0, 3]),
    case(matmul, [0, 3, 5], [0, 5, 4]),
    OpCase(
        "matmul", {"X": SQUARE, "Y": SQUARE}, matmul, {"transpose_Y": True}, "one variable twice"
    ),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(
    "shape", [(64, 784, 200), (129, 257, 65), (1000, 64, 64), (1, 1000, 1000), (500, 3, 500)]
)
def test_large_products_are_accurate_and_the_same_for_any_number_of_threads(
    shape: tuple[int, int, int],
) -> None:
    m, k, n = shape
    x, y = normal(m, k).astype(np.float32), normal(k, n).astype(np.float32)
    one, two = (run_op("mul", {"X": x, "Y": y}, threads=threads)["Out"] for threads in (1, 2))
    expected = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_allclose(one, expected, atol=2e-6 * np.sqrt(k) * 4)
    np.testing.assert_array_equal(two, one)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_long_sums_over_the_rows_of_both_are_the_same_for_any_number_of_threads(
    dtype: str,
) -> None:
    kind = numpy_dtype(dtype)
    x, y = normal(5000, 96).astype(kind), normal(5000, 80).astype(kind)
    attrs = {"transpose_X": True}
    one, *more = (
        run_op("matmul", {"X": x, "Y": y}, attrs, threads=threads)["Out"] for threads in (1, 2, 3)
    )
    expected = x.astype(np.float64).T @ y.astype(np.float64)
    # Sums of 5000 terms about as large as 1, in float32 at least, each rounded; then the result.
    atol = 5000 * (2.0**-52 if dtype == "float64" else 2.0**-23)
    rtol = 2.0**-8 if dtype == "bfloat16" else 0
    np.testing.assert_allclose(one.astype(np.float64), expected, rtol, atol)
    for other in more:
        np.testing.assert_array_equal(other, one)


def test_mul_of_shapes_that_do_not_fit_is_an_error() -> None:
    x, y = normal(32, 784), normal(800, 10)
    message = r"^mul: columns of X must equal rows of Y, got X \[32, 784\], Y \[800, 10\]$"
    with pytest.raises(ValueError, match=message):
        run_op("mul", {"X": x, "Y": y})
    message = (
        r"mul: x_num_col_dims must be at least 1 and less than the rank of X, "
        r"got x_num_col_dims 2, X \[32, 784\]"
    )
    with pytest.raises(ValueError, match=message):
        run_op("mul", {"X": x, "Y": x}, {"x_num_col_dims": 2})


def test_matmul_of_shapes_that_do_not_fit_is_an_error() -> None:
    message = r"matmul: columns of X must equal rows of Y, got X \[3, 5\] transposed, Y \[5, 3\]"
    with pytest.raises(ValueError, match=message):
        run_op("matmul", {"X": normal(3, 5), "Y": normal(5, 3)}, {"transpose_X": True})
    with pytest.raises(ValueError, match=r"matmul: X and Y must have rank 1 or more"):
        run_op("matmul", {"X": normal(), "Y": normal(5, 3)})
    with pytest.raises(
        ValueError, match=r"matmul of X .*, batch dimensions: .*got X \[2\], Y \[3\]"
    ):
        run_op("matmul", {"X": normal(2, 3, 5), "Y": normal(3, 5, 4)})


def test_mixed_dtypes_are_an_error_that_suggests_cast() -> None:
    message = (
        r"mul: X and Y must have the same dtype, got X float64 \[2, 3\], Y float32 \[3, 2\]; "
        r"write cast\(y, 'float64'\)"
    )
    with pytest.raises(ValueError, match=message):
        run_op("mul", {"X": normal(2, 3), "Y": normal(3, 2).astype(np.float32)})
