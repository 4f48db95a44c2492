"""mean and the operators reduce_... against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_checks import check_gradient
from op_case import OpCase, all_dtypes, check_outputs, differentiable
from op_data import SHAPES, Doubles, distinct, integers, normal, positive
from op_runner import run_op

import fluidcore as fluid
from fluidcore import layers
from fluidcore.base.dtypes import numpy_dtype

FORMULAS: dict[str, Callable[..., Doubles]] = {
    "reduce_sum": np.sum,
    "reduce_mean": np.mean,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
}


def of(name: str) -> Callable[..., dict[str, Doubles]]:
    def expected(
        X: Any, dim: int | list[int] = 0, keep_dim: bool = False, reduce_all: bool = False
    ) -> dict[str, Doubles]:
        axis = None if reduce_all or X.ndim == 0 else tuple(np.atleast_1d(dim))
        out = np.asarray(FORMULAS[name](X, axis=axis, keepdims=keep_dim and not reduce_all))
        if X.dtype.kind == "i":
            out = np.trunc(out).astype(X.dtype)
        return {"Out": out if out.ndim else out.reshape(1)}

    return expected


def data(name: str, *shape: int) -> Doubles:
    if name == "reduce_prod":
        return 1 + 0.125 * normal(*shape)  # so that the product of many is no number near 0
    return distinct(*shape) if name in ("reduce_max", "reduce_min") else normal(*shape)


CASES = [
    OpCase(name, {"X": data(name, *shape)}, of(name), attrs)
    for name in FORMULAS
    for shape, attrs in [
        ((), {"reduce_all": True}),
        ((), {}),
        ((), {"dim": [-1]}),
        ((1,), {}),
        ((5,), {}),
        ((257,), {}),
        ((0, 4), {"dim": 1}),
        ((3, 5), {}),
        ((3, 5), {"dim": 1}),
        ((3, 5), {"dim": -1, "keep_dim": True}),
        ((2, 3, 7), {"dim": 1}),
        ((2, 3, 7), {"dim": -2, "keep_dim": True}),
        ((2, 3, 7), {"dim": 0}),
        ((2, 3, 7), {"dim": [1]}),
        ((2, 3, 7), {"dim": [1, 2]}),
        ((2, 3, 7), {"dim": [-1, 0], "keep_dim": True}),
        ((2, 3, 7), {"dim": [0, 1, 2]}),
        ((2, 3, 5, 4), {"dim": [2, 0]}),
        ((2, 3, 5, 4), {"dim": [1, -1], "keep_dim": True}),
        ((2, 0, 4), {"dim": [0, 2]}),
        ((2, 3, 7), {"reduce_all": True}),
        ((2, 3, 7), {"reduce_all": True, "keep_dim": True}),
        ((3, 1, 5), {"dim": 1}),
    ]
    if not (attrs.get("reduce_all") and attrs.get("keep_dim"))
]
CASES += [
    OpCase(name, {"X": normal(0, 4)}, of(name), attrs, note="of nothing")
    for name in ("reduce_sum", "reduce_prod")
    for attrs in ({}, {"reduce_all": True})
]
ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 5.0, 0.0], [1.5, -2.0, 4.0]])
CASES += [
    OpCase("reduce_prod", {"X": ZEROS}, of("reduce_prod"), attrs, note="with zeros")
    for attrs in ({}, {"dim": 1}, {"dim": [1, 0], "keep_dim": True}, {"reduce_all": True})
]
TRUTHS: dict[str, Callable[..., Any]] = {"reduce_any": np.any, "reduce_all": np.all}


def of_truths(name: str) -> Callable[..., dict[str, Any]]:
    def expected(
        X: Any, dim: int = 0, keep_dim: bool = False, reduce_all: bool = False
    ) -> dict[str, Any]:
        out = TRUTHS[name](X, axis=None if reduce_all else dim, keepdims=keep_dim)
        return {"Out": np.atleast_1d(out)}

    return expected


CASES += [
    OpCase(name, {"X": integers(0, most, *shape).astype(bool)}, of_truths(name), attrs, note)
    for name in TRUTHS
    for shape, most, attrs, note in [
        ((3, 5), 2, {}, ""),
        ((3, 5), 2, {"dim": 1, "keep_dim": True}, ""),
        ((40, 300), 300, {"dim": -1}, "mostly true"),
        ((40, 300), 1, {"dim": 0}, "false"),
        ((2, 3, 7), 2, {"reduce_all": True}, ""),
        ((0, 4), 2, {}, "of nothing"),
    ]
]
CASES += [
    OpCase(name, {"X": integers(0, 9, 3, 4).astype(dtype)}, of(name), attrs, note=dtype)
    for name in FORMULAS
    for dtype in ("int32", "int64")
    for attrs in ({}, {"reduce_all": True})
]
CASES += [
    OpCase("mean", {"X": normal(*shape)}, lambda X: {"Out": np.mean(X).reshape(1)})
    for shape in SHAPES
    if 0 not in shape
]


@all_dtypes(CASES)
def test_outputs(case: OpCase, dtype: str) -> None:
    check_outputs(case, dtype)


@differentiable(CASES)
def test_gradient(case: OpCase) -> None:
    check_gradient(case)


def test_the_mean_of_nothing_is_nan_and_its_gradient_is_empty() -> None:
    x = np.zeros((0, 4), dtype=np.float32)
    assert np.isnan(run_op("mean", {"X": x})["Out"]).all()
    grad = run_op("mean_grad", {"X": x, "Out@GRAD": np.ones(1, dtype=np.float32)})["X@GRAD"]
    assert grad.shape == (0, 4)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (4, 3, 700), (2, 600, 3), (5, 1, 2)])
def test_the_gradient_of_a_tied_maximum_goes_to_its_first_element(
    shape: tuple[int, ...], dtype: str
) -> None:
    x = integers(0, 3, *shape).astype(numpy_dtype(dtype))
    for dim in (*range(len(shape)), None):
        attrs: dict[str, Any] = {"reduce_all": True} if dim is None else {"dim": dim}
        out = run_op("reduce_max", {"X": x}, attrs)["Out"]
        dout = positive(*out.shape).astype(numpy_dtype(dtype))
        inputs = {"X": x, "Out": out, "Out@GRAD": dout}
        grad = run_op("reduce_max_grad", inputs, attrs)["X@GRAD"]
        rows = x.astype(np.float64).reshape(1, -1) if dim is None else np.moveaxis(x, dim, -1)
        expected = np.zeros_like(rows, dtype=dout.dtype)
        first = np.argmax(rows.astype(np.float64), axis=-1)[..., None]
        np.put_along_axis(expected, first, dout.reshape(first.shape), -1)
        wanted = expected.reshape(shape) if dim is None else np.moveaxis(expected, -1, dim)
        np.testing.assert_array_equal(grad, wanted, err_msg=f"dim {dim}")
        again = run_op("reduce_max_grad", inputs, attrs, threads=2)["X@GRAD"]
        np.testing.assert_array_equal(again, grad)


@pytest.mark.parametrize("dims", [[0, 2], [1, 3], [3, 0, 1], [1, 2], [2, 0]])
def test_of_a_maximum_that_is_tied_over_several_dimensions_the_first_element_gets_it(
    dims: list[int],
) -> None:
    x = integers(0, 3, 3, 4, 2, 5).astype(np.float32)
    out = run_op("reduce_max", {"X": x}, {"dim": dims})["Out"]
    inputs = {"X": x, "Out": out, "Out@GRAD": positive(*out.shape).astype(np.float32)}
    grad = run_op("reduce_max_grad", inputs, {"dim": dims})["X@GRAD"]
    axes = sorted(dims)
    rows, wanted = (np.moveaxis(a, axes, range(-len(axes), 0)) for a in (x, np.zeros_like(x)))
    for place in np.ndindex(out.shape):
        first = np.unravel_index(np.argmax(rows[place]), rows[place].shape)
        wanted[place][first] = inputs["Out@GRAD"][place]
    np.testing.assert_array_equal(np.moveaxis(grad, axes, range(-len(axes), 0)), wanted)
    again = run_op("reduce_max_grad", inputs, {"dim": dims}, threads=2)["X@GRAD"]
    np.testing.assert_array_equal(again, grad)


def test_a_maximum_of_nan_has_a_gradient_for_one_element() -> None:
    x = np.array([[1.0, np.nan, 2.0]])
    inputs = {"X": x, "Out": np.array([np.nan]), "Out@GRAD": np.array([5.0])}
    assert run_op("reduce_max_grad", inputs, {"dim": 1})["X@GRAD"].sum() == 5


@pytest.mark.parametrize("shape", [(7,), (3, 5), (4, 3, 700), (5, 1, 2)])
def test_the_gradient_of_a_tied_minimum_is_that_of_the_maximum_of_the_negatives(
    shape: tuple[int, ...],
) -> None:
    x = integers(0, 3, *shape).astype(np.float32)
    for dim in range(len(shape)):
        out = run_op("reduce_min", {"X": x}, {"dim": dim})["Out"]
        inputs = {"X": x, "Out": out, "Out@GRAD": positive(*out.shape).astype(np.float32)}
        grad = run_op("reduce_min_grad", inputs, {"dim": dim})["X@GRAD"]
        inputs |= {"X": -x, "Out": -out}
        wanted = run_op("reduce_max_grad", inputs, {"dim": dim})["X@GRAD"]
        np.testing.assert_array_equal(grad, wanted)


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_the_gradient_of_a_product_is_the_product_of_all_others(zeros: int) -> None:
    x = layers.data("x", [3, 4], dtype="float64", append_batch_size=False, stop_gradient=False)
    (gradient,) = fluid.gradients(layers.reduce_prod(x, dim=1), x)
    assert gradient is not None
    value = positive(3, 4)
    value[:, [3, 1][:zeros]] = 0
    (got,) = fluid.Executor().run(feed={"x": value}, fetch_list=[gradient])
    wanted = [[np.prod(np.delete(row, i)) for i in range(4)] for row in value]
    np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_a_product_with_zeros_has_gradients_of_any_order() -> None:
    x = layers.data("x", [4], dtype="float64", append_batch_size=False, stop_gradient=False)
    derivative: Any = layers.reduce_prod(x)
    for factor in range(3):  # of a b c d by a, b and c: d
        (gradient,) = fluid.gradients(derivative, x)
        derivative = layers.slice(gradient, axes=[0], starts=[factor], ends=[factor + 1])
    value = np.array([0.0, 0.0, 0.0, 7.0])
    (got,) = fluid.Executor().run(feed={"x": value}, fetch_list=[derivative])
    np.testing.assert_array_equal(got, [7.0])


@pytest.mark.parametrize("name", ["reduce_any", "reduce_all"])
def test_numbers_are_neither_true_nor_false(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: no kernel for float64 on cpu; it has: bool"):
        run_op(name, {"X": normal(2, 3)})


LARGE = [name for name in FORMULAS if name != "reduce_prod"]


@pytest.mark.parametrize("name", [*LARGE, "mean"])
@pytest.mark.parametrize("shape", [(100_003,), (317, 311), (3, 40_001)])
def test_large_sums_are_accurate_and_the_same_for_any_number_of_threads(
    name: str, shape: tuple[int, ...]
) -> None:
    x = normal(*shape).astype(np.float32)
    one, two = (run_op(name, {"X": x}, threads=threads)["Out"] for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    reference = FORMULAS.get(name, np.mean)(
        x.astype(np.float64), axis=None if name == "mean" else 0
    )
    scale = np.sqrt(x.size / one.size) if name == "reduce_sum" else 1.0
    np.testing.assert_allclose(one.reshape(np.shape(reference)), reference, atol=1e-6 * scale)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_the_maximum_of_nothing_is_an_error(name: str) -> None:
    message = rf"{name}: X must have an element to choose along dim, got X \[0, 4\]"
    with pytest.raises(ValueError, match=message):
        run_op(name, {"X": normal(0, 4)})


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_mean_of_no_integers_is_an_error(dtype: str) -> None:
    message = r"reduce_mean: X must have an element to divide by their number along dim, got X \[0"
    with pytest.raises(ValueError, match=message):
        run_op("reduce_mean", {"X": np.zeros([0, 4], dtype)})


def test_a_dimension_that_is_not_there_is_an_error() -> None:
    message = r"reduce_sum: (axis|dim) must be in \[-2, 2\) for an input of rank 2, got 2"
    with pytest.raises(ValueError, match=message):
        run_op("reduce_sum", {"X": normal(2, 3)}, {"dim": 2})
    with pytest.raises(ValueError, match=r"reduce_sum: axis must be in \[-1, 1\) .*, got 1"):
        run_op("reduce_sum", {"X": normal()}, {"dim": 1})
    with pytest.raises(ValueError, match=r"reduce_sum: dim must name each dimension once"):
        run_op("reduce_sum", {"X": normal()}, {"dim": [0, -1]})


def test_no_dimension_and_one_named_twice_are_errors() -> None:
    message = r"reduce_sum: dim must name a dimension, got \[\]; write reduce_all=True for all"
    with pytest.raises(ValueError, match=message):
        run_op("reduce_sum", {"X": normal(2, 3)}, {"dim": []})
    message = (
        r"reduce_mean: dim must name each dimension once, got \[1, -1\] for an input of rank 2"
    )
    with pytest.raises(ValueError, match=message):
        run_op("reduce_mean", {"X": normal(2, 3)}, {"dim": [1, -1]})
