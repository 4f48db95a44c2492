"""multiplex against NumPy."""

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, run_op


def chosen(Ids: Array, X: list[Array]) -> dict[str, Array]:
    rows = [X[k][row] for row, k in enumerate(Ids.reshape(-1))]
    return {"Out": np.array(rows, X[0].dtype).reshape(X[0].shape)}


CASES = [
    OpCase(
        "multiplex",
        {
            "Ids": integers(0, count, *ids).astype(dtype),
            "X": [normal(*shape, seed=i) for i in range(count)],
        },
        chosen,
        note=dtype,
    )
    for shape, ids, count, dtype in (
        ((5,), (5,), 3, "int64"),
        ((5, 3), (5, 1), 2, "int32"),
        ((257, 2, 3), (257, 1), 4, "int64"),
        ((5, 3), (5,), 1, "int32"),
        ((0, 3), (0, 1), 2, "int32"),
        ((5, 0), (5, 1), 2, "int64"),
    )
]
CASES += [
    OpCase(
        "multiplex", {"Ids": np.array([[1], [0]]), "X": [x[:2], x[2:]]}, chosen, note=str(x.dtype)
    )
    for x in (integers(-9, 9, 4, 3), integers(-9, 9, 4, 3).astype(np.int16), normal(4, 3) > 0)
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize("bad", [2, -1])
def test_a_number_of_no_tensor_is_an_error_that_names_its_place(bad: int) -> None:
    inputs = {"Ids": np.array([0, 1, bad]), "X": [normal(3), normal(3, seed=1)]}
    message = rf"Ids must be in \[0, 2\), got {bad} at position 2"
    with pytest.raises(ValueError, match=f"^multiplex: {message}"):
        run_op("multiplex", inputs)


@pytest.mark.parametrize(
    ("ids", "shapes", "message"),
    [
        ((2,), [(3,)], r"Ids must have an element for each row of X, got Ids int64 \[2\], X .*"),
        ((1,), [()], r"Ids must have an element for each row of X, got Ids int64 \[1\], X .*"),
        ((2,), [(2,), (2, 1)], r"all of X must have one shape and dtype, got .* position 1, .*"),
        ((2, 2), [(2,)], r"Ids must be \[N\] or \[N, 1\], got \[2, 2\]"),
    ],
)
def test_shapes_that_do_not_fit_are_errors(
    ids: tuple[int, ...], shapes: list[tuple[int, ...]], message: str
) -> None:
    inputs = {"Ids": np.zeros(ids, np.int64), "X": [normal(*shape) for shape in shapes]}
    with pytest.raises(ValueError, match=f"^multiplex: {message}$"):
        run_op("multiplex", inputs)
