"""expand, tile and broadcast_to against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import integers, normal
from op_runner import Array, one_op, run_op

REPEATED: list[tuple[tuple[int, ...], list[int]]] = [
    ((), []),
    ((1,), [257]),
    ((5,), [1]),
    ((3, 5), [2, 3]),
    ((3, 1), [1, 4]),
    ((1, 5), [4, 1]),
    ((2, 3, 7), [3, 1, 2]),
    ((3, 2), [0, 2]),
    ((0, 4), [2, 2]),
]
TILED: list[tuple[tuple[int, ...], list[int]]] = [
    *REPEATED,
    ((), [2, 3]),
    ((3,), [2, 2]),
    ((2, 3), [2]),
    ((2, 3), []),
    ((2, 3), [2, 0, 1]),
]
BROADCAST: list[tuple[tuple[int, ...], list[int]]] = [
    ((), []),
    ((), [2, 3]),
    ((1,), [257]),
    ((3, 1), [3, 5]),
    ((1, 5), [3, 5]),
    ((2, 1, 3), [4, 2, 5, 3]),
    ((2, 1), [4, -1, 3]),
    ((3, 1), [3, 0]),
    ((0, 4), [2, 0, 4]),
]


def expand(X: Array, expand_times: list[int]) -> dict[str, Array]:
    return {"Out": np.tile(X, expand_times)}


def tile(X: Array, repeat_times: list[int]) -> dict[str, Array]:
    return {"Out": np.tile(X, repeat_times)}


def broadcast_to(X: Array, shape: list[int]) -> dict[str, Array]:
    extents = (1,) * (len(shape) - X.ndim) + X.shape
    wanted = [own if new == -1 else new for own, new in zip(extents, shape, strict=True)]
    return {"Out": np.array(np.broadcast_to(X, wanted))}


CASES = [
    OpCase(name, {"X": normal(*shape)}, function, {attr: numbers})
    for name, function, attr, rows in (
        ("expand", expand, "expand_times", REPEATED),
        ("tile", tile, "repeat_times", TILED),
        ("broadcast_to", broadcast_to, "shape", BROADCAST),
    )
    for shape, numbers in rows
]
CASES += [
    OpCase(
        "tile",
        {"X": integers(0, 2, 3, 1, 5).astype(dtype)},
        tile,
        {"repeat_times": [2, 2, 3]},
        dtype,
    )
    for dtype in ("bool", "int16", "int32", "int64")
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


@pytest.mark.parametrize(
    ("op_type", "attrs", "message"),
    [
        (
            "expand",
            {"expand_times": [2]},
            r"expand_times must hold a number for each dimension of X, got X \[2, 3\], "
            r"expand_times \[2\]$",
        ),
        ("expand", {"expand_times": [2, -1]}, r"expand_times must be at least 0, got \[2, -1\]$"),
        ("tile", {"repeat_times": [-2]}, r"repeat_times must be at least 0, got \[-2\]$"),
        (
            "tile",
            {"repeat_times": [2**62, 1]},
            rf"extents must have a product that can be counted, got 2 \* {2**62}$",
        ),
        (
            "broadcast_to",
            {"shape": [3]},
            r"shape must be one that X can be repeated to, got X \[2, 3\], shape \[3\]$",
        ),
        ("broadcast_to", {"shape": [2, 6]}, r"shape must be one that X can be repeated to"),
        ("broadcast_to", {"shape": [-1, 2, 3]}, r"shape must be one that X can be repeated to"),
        ("broadcast_to", {"shape": [-2, 3]}, r"shape must be one that X can be repeated to"),
    ],
)
def test_numbers_that_do_not_fit_are_an_error(
    op_type: str, attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{op_type}: {message}"):
        run_op(op_type, {"X": normal(2, 3)}, attrs)


def test_a_result_that_no_memory_holds_is_an_error() -> None:
    attrs = {"repeat_times": [2**40, 2**40]}
    with pytest.raises(
        ValueError, match=r"tensor: must fit in memory, got float64 \[2199023255552"
    ):
        run_op("tile", {"X": normal(2, 3)}, attrs)


@pytest.mark.parametrize(
    ("op_type", "attrs", "shape"),
    [
        ("expand", {"expand_times": [2, 2]}, [-1, 6]),
        ("expand", {"expand_times": [0, 2]}, [0, 6]),
        ("tile", {"repeat_times": [4, 1, 2]}, [4, -1, 6]),
        ("broadcast_to", {"shape": [4, -1, 3]}, [4, -1, 3]),
        ("broadcast_to", {"shape": [7, 3]}, [7, 3]),
    ],
)
def test_an_unknown_extent_stays_unknown(
    op_type: str, attrs: dict[str, Any], shape: list[int]
) -> None:
    one = one_op("abs", {"X": normal(2, 3)})
    one.block.var("x").set_shape([-1, 3])
    one.block.add_op(op_type, {"X": ["x"]}, {"Out": ["repeated"]}, attrs)
    assert one.block.var("repeated").shape() == shape


def test_the_gradient_of_many_copies_is_added_up_as_reduce_sum_does() -> None:
    terms = normal(100_000).astype(np.float32)
    one = one_op(
        "broadcast_to_grad",
        {"X": np.ones(1, np.float32), "Out@GRAD": terms},
        {"shape": [100_000]},
    )
    (gradient,) = one.run(one.op.output("X@GRAD"))
    total = run_op("reduce_sum", {"X": terms}, {"reduce_all": True})["Out"]
    np.testing.assert_array_equal(gradient, total)
