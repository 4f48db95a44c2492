"""Outputs of nodes that nothing reads are as if they were left out."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import model_of, run, tensor, value

import fluidcore as fluid
from fluidcore import onnx as fluid_onnx

F32 = np.float32


def array(*shape):
    return np.random.default_rng(3).normal(size=shape).astype(F32)


def trained(*read):
    """A batch normalization in training, whose outputs y, mean and variance all have names."""
    node = helper.make_node(
        "BatchNormalization",
        ["x", "scale", "bias", "old_mean", "old_variance"],
        ["y", "mean", "variance"],
        training_mode=1,
        momentum=0.75,
    )
    known = [tensor(name, [1.0, 2.0]) for name in ("scale", "bias", "old_mean", "old_variance")]
    outputs = [value(name, ["n", 2, 3] if name == "y" else [2]) for name in ("y", *read)]
    return model_of([node], [value("x", ["n", 2, 3])], outputs, known)


def test_a_batch_normalization_in_training_updates_statistics_that_nothing_reads():
    scope, x = fluid.Scope(), array(4, 2, 3)
    model = fluid_onnx.load(trained(), scope=scope)
    (op,) = model.program.global_block().ops
    assert (op.type, op.attr("is_test")) == ("batch_norm", False)
    assert [p.name for p in model.program.all_parameters() if p.trainable] == ["scale", "bias"]
    (y,) = fluid.Executor().run(model.program, {"x": x}, model.fetches, scope)
    np.testing.assert_allclose(y.mean((0, 2)), [1.0, 2.0], rtol=1e-5)
    wanted = 0.75 * np.array([1.0, 2.0]) + 0.25 * x.mean((0, 2))
    np.testing.assert_allclose(scope.find_var("old_mean").get_tensor(), wanted, rtol=1e-5)


def test_statistics_that_the_model_reads_are_results_and_the_old_ones_stay():
    scope, x = fluid.Scope(), array(4, 2, 3)
    model = fluid_onnx.load(trained("mean", "variance"), scope=scope)
    _, mean, _ = fluid.Executor().run(model.program, {"x": x}, model.fetches, scope)
    wanted = 0.75 * np.array([1.0, 2.0]) + 0.25 * x.mean((0, 2))
    np.testing.assert_allclose(mean, wanted, rtol=1e-5)
    np.testing.assert_array_equal(scope.find_var("old_mean").get_tensor(), [1.0, 2.0])


def test_before_opset_14_statistics_that_are_written_still_mean_training():
    outputs = ["y", "mean", "variance", "saved_mean", "saved_variance"]
    node = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], outputs, name="norm")
    known = [tensor(name, [1.0, 2.0]) for name in "sbmv"]
    model = model_of([node], [value("x", ["n", 2])], [value("y", ["n", 2])], known, opset=9)
    with pytest.raises(fluid_onnx.Unsupported, match="must be in test mode before opset 14"):
        fluid_onnx.load(model)


def test_an_output_that_fluidcore_cannot_calculate_may_be_there_if_nothing_reads_it():
    node = helper.make_node("MaxPool", ["x"], ["y", "indices"], kernel_shape=[2], name="pool")
    inputs, outputs = [value("x", [1, 1, 3])], [value("y", [1, 1, 2])]
    (found,) = run(model_of([node], inputs, outputs), {"x": np.array([[[1, 3, 2]]], F32)})
    assert found.tolist() == [[[3.0, 3.0]]]
    outputs.append(value("indices", [1, 1, 2], TensorProto.INT64))
    with pytest.raises(fluid_onnx.Unsupported, match="indices must be of a plain pool over two"):
        fluid_onnx.load(model_of([node], inputs, outputs))


def test_an_output_that_only_a_block_inside_reads_is_read():
    pool = helper.make_node("MaxPool", ["x"], ["y", "indices"], kernel_shape=[1, 2])
    branches = [
        helper.make_graph(
            [helper.make_node("Cast", ["indices"], [f"out_{name}"], to=TensorProto.FLOAT)],
            name,
            [],
            [value(f"out_{name}", [1, 1, 1, 2])],
        )
        for name in ("yes", "no")
    ]
    choice = helper.make_node(
        "If", ["which"], ["z"], then_branch=branches[0], else_branch=branches[1]
    )
    x = np.array([[[[1, 3, 2]]]], F32)
    inputs = [value("x", x.shape), value("which", [], TensorProto.BOOL)]
    model = model_of([pool, choice], inputs, [value("z", [1, 1, 1, 2])])
    (z,) = run(model, {"x": x, "which": np.array(True)})
    assert z.tolist() == [[[[1.0, 1.0]]]]
