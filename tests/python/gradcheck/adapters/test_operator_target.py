from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import core, layers
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.gradcheck import GradCheckConfig, GradientChecker
from fluidcore.gradcheck.adapters.network_target import common_dtype
from fluidcore.gradcheck.adapters.operator import operator_target
from fluidcore.gradcheck.target.target import Input, Target

RNG = np.random.default_rng(2)
X = RNG.normal(size=(2, 3)).astype(np.float32)


def gradients(target: Target, dtype: str, *cotangents: Any) -> list[np.ndarray]:
    xs = [item.value.astype(numpy_dtype(dtype)) for item in target.inputs]
    vs = [np.asarray(v, dtype=numpy_dtype(dtype)) for v in cotangents]
    return target.vjp(xs, vs, dtype)


def rows(target: Target) -> dict[str, int]:
    return {item.name: item.rows for item in target.inputs}


def test_outputs_and_gradients_in_the_dtype_and_in_float64() -> None:
    target = operator_target("tanh", {"X": X})
    assert (target.who, target.dtype, target.has_shadow) == ("tanh", "float32", True)
    for dtype in ("float32", "float64"):
        x = X.astype(dtype)
        (y,) = target.forward([x], dtype)
        (grad,) = gradients(target, dtype, np.ones((2, 3)))
        assert y.dtype.name == grad.dtype.name == dtype
        tolerance = 1e-5 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(y, np.tanh(x), rtol=tolerance)
        np.testing.assert_allclose(grad, 1 - np.tanh(x) ** 2, rtol=tolerance)


def test_the_function_for_the_engine_is_the_forward_operator() -> None:
    target = operator_target("mul", {"X": X, "Y": X.T.copy()})
    function = target.function("float64")
    assert [tensor.dtype() for tensor in function.inputs()] == ["float64", "float64"]
    x = X.astype(np.float64)
    np.testing.assert_allclose(np.asarray(function.run()[0]), x @ x.T, rtol=1e-12)
    found = core.differentiate(function, 0, [np.ones(4)])
    (expected, _) = gradients(target, "float64", np.ones((2, 2)))
    np.testing.assert_allclose(found.value[0], expected.ravel(), rtol=1e-9)


def test_integer_inputs_are_constants() -> None:
    label = np.array([[0], [2]])
    target = operator_target("softmax_with_cross_entropy", {"Logits": X, "Label": label})
    assert [item.name for item in target.inputs] == ["Logits"]
    assert len(target.forward([X], "float32")) == 2


def test_results_that_gradients_do_not_come_in_by_are_left_out() -> None:
    ones = np.ones(3, np.float32)
    slots = {"X": X, "Scale": ones, "Bias": ones, "Mean": ones, "Variance": ones}
    target = operator_target("batch_norm", slots)
    assert [item.name for item in target.inputs] == ["X", "Scale", "Bias"]
    assert [y.shape for y in target.forward([X, ones, ones], "float32")] == [(2, 3)]


def test_lists_of_variables_in_a_slot() -> None:
    target = operator_target("concat", {"X": [X, 2 * X]}, {"axis": 1})
    assert [item.name for item in target.inputs] == ["X[0]", "X[1]"]
    one = operator_target("concat", {"X": [X, 2 * X]}, {"axis": 1}, inputs_to_check=["X[1]"])
    assert [item.name for item in one.inputs] == ["X[1]"]
    parts = operator_target("split", {"X": X}, {"num": 3, "axis": 1})
    assert [y.shape for y in parts.forward([X], "float32")] == [(2, 1)] * 3


def test_inputs_outputs_and_constants_may_be_chosen() -> None:
    slots = {"X": X, "Y": X.T.copy()}
    assert [i.name for i in operator_target("mul", slots, inputs_to_check=["Y"]).inputs] == ["Y"]
    assert [i.name for i in operator_target("mul", slots, no_grad_set=["X"]).inputs] == ["Y"]
    label = np.array([[0], [2]])
    both = {"Logits": X, "Label": label}
    target = operator_target("softmax_with_cross_entropy", both, outputs=["Loss"])
    assert [y.shape for y in target.forward([X], "float32")] == [(2, 1)]


def test_one_variable_in_two_slots_of_an_operator_that_exists() -> None:
    x = layers.data("x", [2, 3], append_batch_size=False, stop_gradient=False)
    y = layers.elementwise_mul(x, x)
    for op in (y.block.ops[-1], y.block.ops[-1].desc):
        target = operator_target(op, {"x": X})
        assert [(item.name, item.rows) for item in target.inputs] == [("x", 0)]
        (grad,) = gradients(target, "float64", np.ones((2, 3)))
        np.testing.assert_allclose(grad, 2.0 * X)
        assert target.source is not None
        assert "test_operator_target.py" in target.source


def test_elementwise_and_rowwise_operators_say_so() -> None:
    assert rows(operator_target("tanh", {"X": X})) == {"X": 6}
    assert rows(operator_target("elementwise_add", {"X": X, "Y": X})) == {"X": 6, "Y": 6}
    assert rows(operator_target("elementwise_add", {"X": X, "Y": X[0]})) == {"X": 0, "Y": 0}
    assert rows(operator_target("softmax", {"X": X})) == {"X": 2}
    assert rows(operator_target("reduce_sum", {"X": X}, {"dim": -1})) == {"X": 2}
    assert rows(operator_target("reduce_sum", {"X": X}, {"dim": 0})) == {"X": 0}
    assert rows(operator_target("mul", {"X": X, "Y": X.T.copy()})) == {"X": 2, "Y": 0}


CLAIMS = [
    ("softmax", {"X": X}, {}),
    ("cross_entropy", {"X": np.abs(X) + 0.1, "Label": np.array([[0], [2]])}, {}),
    ("softmax_with_cross_entropy", {"Logits": X, "Label": np.array([[0], [2]])}, {}),
    ("reduce_max", {"X": X}, {"dim": 1}),
    ("mul", {"X": X, "Y": X.T.copy()}, {}),
    ("dropout", {"X": X}, {}),
    ("sum", {"X": [X, X]}, {}),
]


@pytest.mark.parametrize(("op", "slots", "attrs"), CLAIMS, ids=[claim[0] for claim in CLAIMS])
def test_what_is_claimed_about_rows_is_true(op: str, slots: Any, attrs: Any) -> None:
    target = operator_target(op, slots, attrs)
    function = target.function("float64")
    size = sum(np.asarray(y).size for y in function.run())
    v = RNG.normal(size=size)
    for i, item in enumerate(target.inputs):
        if item.rows > 0:
            coloured = core.differentiate(function, i, [v], rows=item.rows)
            full = core.differentiate(function, i, [v])
            np.testing.assert_allclose(coloured.value, full.value, rtol=1e-9, atol=1e-12)


def test_the_gradient_of_a_gradient_operator() -> None:
    target = operator_target("tanh_grad", {"Out": X, "Out@GRAD": 2 * X})
    assert [item.name for item in target.inputs] == ["Out", "Out@GRAD"]
    out, dout = gradients(target, "float64", np.ones((2, 3)))
    np.testing.assert_allclose(out, -4.0 * X.astype(np.float64) ** 2, rtol=1e-7)
    np.testing.assert_allclose(dout, 1.0 - X.astype(np.float64) ** 2, rtol=1e-7)


def test_an_operator_whose_result_has_another_dtype() -> None:
    target = operator_target("cast", {"X": X}, {"in_dtype": "float32", "out_dtype": "float64"})
    (y,) = target.forward([X], "float32")
    assert y.dtype == np.float64
    (grad,) = gradients(target, "float32", np.ones((2, 3)))
    np.testing.assert_array_equal(grad, np.ones((2, 3)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_the_text_that_repeats_a_check_is_python(
    dtype: str, capsys: pytest.CaptureFixture[str]
) -> None:
    x = X.astype(numpy_dtype(dtype))
    config = GradCheckConfig(seed=3)
    report = GradientChecker(config).check_op(
        "elementwise_mul", {"X": x, "Y": x}, inputs_to_check=["Y"]
    )
    exec(compile(report.repro, "pasted", "exec"), {})
    assert capsys.readouterr().out.startswith("PASS  elementwise_mul: 1 gradient right\n")
    assert "seed=3" in report.repro
    assert operator_target("tanh", {"X": np.zeros(65)}).repro is None


def test_the_values_are_not_changed() -> None:
    x = X.copy()
    target = operator_target("tanh", {"X": x})
    other = np.zeros((2, 3), np.float32)
    target.vjp([other], [np.ones((2, 3), np.float32)], "float32")
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(other, np.zeros((2, 3)))


def test_mistakes_are_named() -> None:
    with pytest.raises(core.NotFound, match="sgin"):
        operator_target("sgin", {"X": X})
    with pytest.raises(core.InvalidArgument, match="less_than: there must be gradient operators"):
        operator_target("less_than", {"X": X, "Y": X})
    mixed = [Input("X", X), Input("Y", X.astype(np.float64))]
    with pytest.raises(core.InvalidArgument, match="must have one dtype, got float32, float64"):
        common_dtype("mul", mixed)
    with pytest.raises(core.NotFound, match="tanh: no slot or variable 'Y' for inputs_to_check"):
        operator_target("tanh", {"X": X}, inputs_to_check=["Y"])
    with pytest.raises(TypeError, match="inputs must map slots to arrays"):
        operator_target("tanh", X)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="op must be a type, an Operator or an OpDesc, got int"):
        operator_target(3, {"X": X})  # type: ignore[arg-type]
    op = core.OpDesc("tanh", {"X": ["x"]}, {"Out": ["y"]}, {})
    with pytest.raises(core.InvalidArgument, match="slot 'X' must be given 1 arrays, got 2"):
        operator_target(op, {"X": [X, X]})


def test_an_unused_program_stays_empty() -> None:
    operator_target("tanh", {"X": X})
    assert fluid.default_main_program().num_blocks == 1
    assert fluid.default_main_program().global_block().ops == ()
