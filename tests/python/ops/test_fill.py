"""Constants, copies and casts against NumPy."""

from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, integers, normal
from op_runner import run_op

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, numpy_dtype

FLOAT32, FLOAT64 = 5, 6


def constant(shape: list[int], **attrs: Any) -> OpCase:
    def expected(shape: list[int], value: float = 0.0, dtype: str = "float32", **_: Any) -> Any:
        return {"Out": np.full(shape, value, dtype)}

    return OpCase("fill_constant", {}, expected, {"shape": shape, **attrs})


def constant_like(x: Any, value: float, note: str = "") -> OpCase:
    def expected(X: Any, value: float) -> Any:
        return {"Out": np.full_like(X, value)}

    return OpCase("fill_any_like", {"X": x}, expected, {"value": value}, note)


def constant_batch(
    x: Any, shape: list[int], dims: tuple[int, int] = (0, 0), **attrs: Any
) -> OpCase:
    """With the extent dims[0] of x as that of dims[1]."""

    def expected(Input: Any, shape: list[int], **given: Any) -> Any:
        extents = list(shape)
        extents[dims[1]] = Input.shape[dims[0]]
        return {"Out": np.full(extents, given.get("value", 0), given.get("dtype", "float32"))}

    places = {"input_dim_idx": dims[0], "output_dim_idx": dims[1]}
    attrs = {"shape": shape, **places, **attrs}
    return OpCase("fill_constant_batch_size_like", {"Input": x}, expected, attrs, grad=[])


def values(array: Any, dtype: str) -> OpCase:
    def expected(shape: list[int], dtype: str, **_: Any) -> Any:
        return {"Out": np.asarray(array, numpy_dtype(dtype)).reshape(shape)}

    name = "fp32_values" if dtype in FLOATING else "int32_values"
    attrs = {"shape": list(np.shape(array)), "dtype": dtype, name: np.ravel(array).tolist()}
    return OpCase("assign_value", {}, expected, attrs)


CASES = [
    *[constant(list(shape)) for shape in SHAPES],
    constant_batch(normal(4, 3), [-1, 2], value=1.5),
    constant_batch(normal(4, 3), [7], (1, 0), dtype="int64", value=2**53),
    constant_batch(integers(0, 9, 4, 3), [2, 1, 5], (1, 1), dtype="float64", value=-2.0),
    constant_batch(normal(0, 3), [1, 2], dtype="bool", value=1.0),
    *[values(normal(*shape), "float64") for shape in SHAPES],
    *[values(np.float32([[0.1, -3], [np.inf, 7]]), d) for d in ("float32", "float16", "bfloat16")],
    *[values([[0, -3, 7]], d) for d in ("int16", "int32")],
    values([2**53 + 1, -(2**63), 2**63 - 1], "int64"),
    values([[1], [0]], "bool"),
    *[constant([2, 3], value=3.0, dtype=d) for d in ("int16", "int32", "int64")],
    constant([2], value=1.0, dtype="bool"),
    *[constant([17], value=-0.25, dtype=d) for d in ("float16", "float32", "float64")],
    constant([2], value=2**53, dtype="int64", force_cpu=True),
    *[OpCase("fill_zeros_like", {"X": normal(*s)}, lambda X: {"Out": 0 * X}) for s in SHAPES],
    *[
        OpCase(
            "fill_zeros_like", {"X": integers(0, 9, 3).astype(d)}, lambda X: {"Out": 0 * X}, note=d
        )
        for d in ("int16", "int32", "int64")
    ],
    *[constant_like(normal(*shape), -0.25) for shape in SHAPES],
    *[constant_like(integers(0, 9, 3).astype(d), 7.0, d) for d in ("int16", "int32", "int64")],
    *[OpCase("assign", {"X": normal(*shape)}, lambda X: {"Out": X}) for shape in SHAPES],
    *[
        OpCase("assign", {"X": integers(0, 2, 3).astype(d)}, lambda X: {"Out": X}, note=d)
        for d in ("bool", "int16", "int32", "int64")
    ],
    *[
        OpCase(
            "cast",
            {"X": normal(*shape)},
            lambda X, in_dtype, out_dtype: {"Out": X.astype(np.float32)},
            {"in_dtype": FLOAT64, "out_dtype": FLOAT32},
            dtypes=["float64"],
            grad=[],
        )
        for shape in SHAPES
    ],
    OpCase(
        "cast",
        {"X": normal(3, 5)},
        lambda X, in_dtype, out_dtype: {"Out": X},
        {"in_dtype": FLOAT64, "out_dtype": FLOAT64},
        dtypes=["float64"],
    ),
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


VALUES = {
    "bool": [False, True],
    "int16": [-3, 0, 7],
    "int32": [-3, 0, 7],
    "int64": [-3, 0, 7],
    "float16": [-2.5, 0, 7.75],
    "float32": [-2.5, 0, 7.75],
    "float64": [-2.5, 0, 7.75],
}


@pytest.mark.parametrize("to", VALUES)
@pytest.mark.parametrize("source", VALUES)
def test_cast_between_all_dtypes_agrees_with_numpy(source: str, to: str) -> None:
    x = np.array(VALUES[source], dtype=source)
    out = run_op("cast", {"X": x}, {"in_dtype": source, "out_dtype": to})["Out"]
    np.testing.assert_array_equal(out, x.astype(to))
    assert out.dtype == to


def test_cast_to_an_integer_takes_the_nearest_limit_and_zero_for_nan() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1e30], dtype=np.float32)
    out = run_op("cast", {"X": x}, {"in_dtype": "float32", "out_dtype": "int32"})["Out"]
    np.testing.assert_array_equal(out, [2**31 - 1, -(2**31), 0, 2**31 - 1])


def test_the_gradient_of_cast_has_the_dtype_of_its_input() -> None:
    op = core.OpDesc(
        "cast", {"X": ["x"]}, {"Out": ["y"]}, {"in_dtype": FLOAT64, "out_dtype": FLOAT32}
    )
    (grad,), grad_to_var = core.get_grad_op_desc(op, set(), [])
    assert str(grad) == ("cast(X=y@GRAD) -> Out=x@GRAD   # in_dtype=5, out_dtype=6"), str(grad)
    assert grad_to_var == {"x@GRAD": "x"}


def test_cast_with_a_wrong_in_dtype_is_an_error() -> None:
    message = r"cast: in_dtype must be the dtype of X, got in_dtype float32, X float64 \[2\]"
    with pytest.raises(ValueError, match=message):
        run_op("cast", {"X": normal(2)}, {"in_dtype": "float32", "out_dtype": "int32"})


def test_a_constant_that_the_dtype_cannot_hold_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"fill_constant: value must be .*, got 0\.5"):
        run_op("fill_constant", {}, {"shape": [1], "dtype": "int64", "value": 0.5})
    with pytest.raises(ValueError, match=r"fill_constant: value must be .*, got 40000"):
        run_op("fill_constant", {}, {"shape": [1], "dtype": "int16", "value": 40000.0})
    with pytest.raises(ValueError, match=r"fill_any_like: value must be .* of int64, got 0\.5"):
        run_op("fill_any_like", {"X": integers(0, 9, 3)}, {"value": 0.5})


def test_values_that_do_not_fit_are_an_error() -> None:
    def assign(**attrs: Any) -> None:
        run_op("assign_value", {}, attrs)

    message = (
        r"assign_value: fp32_values must hold a value for each element of float32 \[2, 2\], got 3"
    )
    with pytest.raises(ValueError, match=message):
        assign(shape=[2, 2], dtype="float32", fp32_values=[1.0, 2.0, 3.0])
    message = "assign_value: int64 values must be in int32_values, got some in fp32_values"
    with pytest.raises(ValueError, match=message):
        assign(shape=[1], dtype="int64", int32_values=[1], fp32_values=[1.0])
    message = "assign_value: int32_values must be in the range of int16, got 40000"
    with pytest.raises(ValueError, match=message):
        assign(shape=[1], dtype="int16", int32_values=[40000])


@pytest.mark.parametrize("op_type", ["fill_constant", "gaussian_random", "uniform_random"])
def test_more_elements_than_can_be_counted_are_an_error(op_type: str) -> None:
    message = "extents of shape must have a product that can be counted, got"
    with pytest.raises(ValueError, match=rf"^{op_type}: {message} \[{2**62}, 2\]$"):
        run_op(op_type, {}, {"shape": [2**62, 2]})


def test_an_unknown_extent_is_an_error() -> None:
    message = (
        r"^fill_constant: shape must be known, got \[-1, 2\]; "
        r"the operators \*_batch_size_like take an extent from another tensor$"
    )
    with pytest.raises(ValueError, match=message):
        run_op("fill_constant", {}, {"shape": [-1, 2]})


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"shape": [-1], "input_dim_idx": 2}, "input_dim_idx must be a dimension, got 2 for 2"),
        ({"shape": [-1], "input_dim_idx": -1}, "input_dim_idx must be a dimension, got -1 for 2"),
        ({"shape": []}, "output_dim_idx must be a dimension, got 0 for 0 dimensions"),
        (
            {"shape": [-1, -1], "output_dim_idx": 1},
            r"all extents of shape but that at output_dim_idx must be known, got \[-1, -1\] with "
            "output_dim_idx 1",
        ),
        ({"shape": [1], "dtype": "int64", "value": 0.5}, "value must be a whole number in the"),
    ],
)
def test_a_batch_size_that_there_is_not_is_an_error(attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^fill_constant_batch_size_like: {message}"):
        run_op("fill_constant_batch_size_like", {"Input": normal(2, 3)}, {"value": 0.0, **attrs})


def test_a_required_attribute_that_is_missing_is_an_error() -> None:
    message = r"fill_constant: attribute 'shape' must be given \(.*\), got nothing"
    with pytest.raises(ValueError, match=message):
        run_op("fill_constant", {}, {"value": 1.0})
