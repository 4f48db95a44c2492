"""Corners that the backend tests of ONNX do not look at; expected values are those of its text."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import model_of, one_node, run, run_node, tensor, value

import fluidcore as fluid
from fluidcore import layers
from fluidcore import onnx as fluid_onnx
from fluidcore.onnx import Unsupported

F32 = np.float32


def array(*shape):
    return np.random.default_rng(5).normal(size=shape).astype(F32)


def sliced(x, start, end, step, **settings):
    numbers = [np.array([number]) for number in (start, end, 0, step)]
    return run_node("Slice", x, *numbers, known=[1, 2, 3, 4], **settings)


def test_a_slice_that_goes_backwards_from_before_the_first_element_has_that_one():
    x = array(5)
    np.testing.assert_array_equal(sliced(x, -7, -(2**63), -2), x[:1])
    np.testing.assert_array_equal(sliced(x, 9, -(2**63), -2), x[::-2])
    np.testing.assert_array_equal(sliced(x, -1, 0, -1), x[:0:-1])
    np.testing.assert_array_equal(sliced(x, 7, 9, 1), x[:0])
    np.testing.assert_array_equal(sliced(x, -9, 2**63 - 1, 3), x[::3])


def test_a_slice_of_an_open_extent_may_turn_it_round():
    model = one_node(
        "Slice", array(3), *map(np.array, ([-1], [-(2**63)], [0], [-1])), known=[1, 2, 3, 4]
    )
    loaded = fluid_onnx.load(model, shapes={"x0": [-1]})
    (y,) = fluid.Executor().run(loaded.program, {"x0": array(4)}, loaded.fetches)
    np.testing.assert_array_equal(y, array(4)[::-1])
    model = one_node("Slice", array(3), *map(np.array, ([-2], [-9], [0], [-1])), known=[1, 2, 3, 4])
    with pytest.raises(Unsupported, match="the extent must be known where steps go backwards"):
        fluid_onnx.load(model, shapes={"x0": [-1]})


def test_a_pool_whose_windows_leave_elements_out_pads_nothing_for_a_maximum():
    x = array(1, 1, 6)
    attrs = {"kernel_shape": [1], "strides": [3], "auto_pad": "SAME_UPPER"}
    np.testing.assert_array_equal(run_node("MaxPool", x, **attrs), x[..., ::3])
    with pytest.raises(Unsupported, match=r"windows must reach as far as the strides \[3\]"):
        run_node("AveragePool", x, **attrs)


def test_a_clipped_lstm_is_refused_as_frameworks_differ_on_its_cell():
    arrays = array(2, 1, 3), array(1, 8, 3), array(1, 8, 2)
    with pytest.raises(Unsupported, match=r"attribute clip must not be given, got 0\.5"):
        run_node("LSTM", *arrays, hidden_size=2, clip=0.5)


def test_a_norm_of_nothing_has_a_gradient():
    model = fluid_onnx.load(one_node("LpNormalization", array(2, 3), axis=1, p=2))
    x = np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]], F32)
    with fluid.program_guard(model.program, fluid.Program()):
        model.program.global_block().var("x0").stop_gradient = False
        (gradient,) = fluid.gradients(model.fetches, [model.program.global_block().var("x0")])
    y, dx = fluid.Executor().run(model.program, {"x0": x}, [*model.fetches, gradient])
    np.testing.assert_allclose(y, [[0.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    assert np.isfinite(dx).all()


def test_statistics_that_are_fed_have_gradients():
    ones = [np.ones(2, F32)] * 4
    model = fluid_onnx.load(one_node("BatchNormalization", array(3, 2), *ones))
    assert "batch_norm" not in [op.type for op in model.program.global_block().ops]
    block = model.program.global_block()
    with fluid.program_guard(model.program, fluid.Program()):
        gradients = fluid.gradients(model.fetches, [block.var("x3"), block.var("x4")])
    feed = {"x0": array(3, 2)} | {f"x{i}": one for i, one in enumerate(ones, start=1)}
    mean, _ = fluid.Executor().run(model.program, feed, gradients)
    np.testing.assert_allclose(mean, [-3.0, -3.0], rtol=1e-4)


def test_a_parameter_that_is_cast_like_an_input_has_a_gradient():
    nodes = [
        helper.make_node("CastLike", ["w", "x"], ["same"]),
        helper.make_node("Mul", ["x", "same"], ["y"]),
    ]
    weight = tensor("w", [2.0, 3.0])
    loaded = fluid_onnx.load(model_of(nodes, [value("x", [2])], [value("y", [2])], [weight]))
    with fluid.program_guard(loaded.program, fluid.Program()):
        ((parameter, gradient),) = fluid.append_backward(layers.mean(loaded.fetches[0]))
    assert parameter.name == "w"
    (found,) = fluid.Executor().run(loaded.program, {"x": np.array([4, 6], F32)}, [gradient])
    np.testing.assert_array_equal(found, [2.0, 3.0])


def test_a_number_that_is_cast_like_a_shape_is_known():
    nodes = [
        helper.make_node("Constant", [], ["half"], value=tensor("half", [6.0])),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("CastLike", ["half", "shape"], ["wanted"]),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    model = model_of(nodes, [value("x", [2, 3])], [value("y", [6])])
    assert fluid_onnx.load(model).fetches[0].shape == (6,)


def test_what_a_loop_writes_is_not_renamed_under_it():
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "v"], ["twice"]),
            helper.make_node("ReduceSum", ["twice"], ["total"], keepdims=0),
            helper.make_node("Less", ["total", "limit"], ["again"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("v", [2])],
        [value("again", [], TensorProto.BOOL), value("twice", [2])],
        [tensor("limit", 100.0)],
    )
    node = helper.make_node("Loop", ["", "start", "x"], ["y"], body=body)
    start = [tensor("start", True, np.bool_)]
    model = model_of([node], [value("x", [2])], [value("y", [2])], start)
    assert "while" in [op.type for op in fluid_onnx.load(model).program.global_block().ops]
    np.testing.assert_array_equal(run(model, {"x": np.ones(2, F32)})[0], [64.0, 64.0])
