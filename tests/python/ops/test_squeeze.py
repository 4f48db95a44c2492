"""squeeze and unsqueeze against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, one_op, run_op


def squeeze(X: Array, axes: list[int] | None = None) -> dict[str, Array]:
    return {"Out": np.squeeze(X, tuple(axes) if axes else None)}


def unsqueeze(X: Array, axes: list[int]) -> dict[str, Array]:
    return {"Out": np.expand_dims(X, tuple(axes))}


SQUEEZED: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {"axes": [0]}),
    ((257,), {}),
    ((1, 3, 1, 5), {}),
    ((1, 3, 1, 5), {"axes": [2]}),
    ((1, 3, 1, 5), {"axes": [-2, 0]}),
    ((0, 1, 4), {"axes": [1]}),
]
UNSQUEEZED: list[tuple[tuple[int, ...], list[int]]] = [
    ((), []),
    ((), [0, 1]),
    ((257,), [-1]),
    ((3, 5), [1]),
    ((3, 5), [3, 0]),
    ((3, 5), [-1, 0, 2]),
    ((0, 4), [1]),
]
CASES = [OpCase("squeeze", {"X": normal(*x)}, squeeze, attrs) for x, attrs in SQUEEZED] + [
    OpCase("unsqueeze", {"X": normal(*x)}, unsqueeze, {"axes": axes}) for x, axes in UNSQUEEZED
]
CASES += [
    OpCase(op_type, {"X": integers(0, 2, 3, 1).astype(dtype)}, function, {"axes": [1]}, dtype)
    for dtype in ("bool", "int16", "int32", "int64")
    for op_type, function in (("squeeze", squeeze), ("unsqueeze", unsqueeze))
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(
    ("op_type", "axes", "message"),
    [
        (
            "squeeze",
            [1],
            r"axes must name dimensions of extent 1, got X \[1, 3\], axes \[1\]$",
        ),
        ("squeeze", [2], r"axis must be in \[-2, 2\) for an input of rank 2, got 2$"),
        ("squeeze", [0, -2], r"axes must name each dimension once, got \[0, -2\] for rank 2$"),
        ("unsqueeze", [3], r"axis must be in \[-3, 3\) for an input of rank 3, got 3$"),
        ("unsqueeze", [3, -1], r"axes must name each dimension once, got \[3, -1\] for rank 4$"),
    ],
)
def test_dimensions_that_do_not_fit_are_an_error(
    op_type: str, axes: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{op_type}: {message}"):
        run_op(op_type, {"X": normal(1, 3)}, {"axes": axes})


def test_an_unknown_extent_stays_unknown_and_is_squeezed_by_name_only() -> None:
    one = one_op("abs", {"X": normal(1, 3)})
    one.block.var("x").set_shape([-1, 3])
    one.block.add_op("unsqueeze", {"X": ["x"]}, {"Out": ["more"]}, {"axes": [1]})
    assert one.block.var("more").shape() == [-1, 1, 3]
    one.block.add_op("squeeze", {"X": ["x"]}, {"Out": ["less"]}, {"axes": [0]})
    assert one.block.var("less").shape() == [3]
    message = r"^squeeze: axes must be given where an extent of X is unknown, got X \[-1, 3\]$"
    with pytest.raises(ValueError, match=message):
        one.block.add_op("squeeze", {"X": ["x"]}, {"Out": ["all"]}, {})
