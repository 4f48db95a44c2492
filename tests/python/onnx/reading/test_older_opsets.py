"""Operators as they were before: the backend tests of ONNX are of the newest opset alone."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import model_of, run, run_node, tensor, value

from fluidcore.onnx import Unsupported

F32 = np.float32


def array(*shape):
    return np.random.default_rng(5).normal(size=shape).astype(F32)


def test_before_opset_7_a_second_operand_is_broadcast_from_an_axis_on():
    x, y = array(2, 3, 4), array(3)
    found = run_node("Add", x, y, opset=6, broadcast=1, axis=1)
    np.testing.assert_array_equal(found, x + y[:, None])
    found = run_node("Mul", x, array(4), opset=6, broadcast=1)
    np.testing.assert_array_equal(found, x * array(4))


def test_before_opset_7_a_slope_of_prelu_is_one_for_each_channel():
    x, slope = array(2, 3, 4), np.array([0.1, 0.2, 0.3], F32)
    found = run_node("PRelu", x, slope, opset=6)
    np.testing.assert_allclose(found, np.where(x > 0, x, x * slope[:, None]), rtol=1e-6)


def test_before_opset_7_dropout_and_batch_normalization_say_that_they_are_in_test_mode():
    x = array(2, 3)
    np.testing.assert_array_equal(run_node("Dropout", x, opset=6, is_test=1), x)
    with pytest.raises(Unsupported, match="attribute is_test must be 1, got 0"):
        run_node("Dropout", x, opset=6)
    ones = [np.ones(3, F32)] * 4
    with pytest.raises(Unsupported, match="attribute is_test must be 1, got 0"):
        run_node("BatchNormalization", x, *ones, opset=6, known=[1, 2, 3, 4])


def test_before_opset_9_an_image_is_upsampled_by_scales_of_an_attribute():
    x = array(1, 1, 2, 2)
    found = run_node("Upsample", x, opset=7, scales=[1.0, 1.0, 2.0, 3.0], mode="nearest")
    np.testing.assert_array_equal(found, x.repeat(2, 2).repeat(3, 3))


def test_opset_9_upsamples_linearly_without_a_shift():
    x = np.array([[[[1.0, 3.0]]]], F32)
    scales = np.array([1, 1, 1, 2], F32)
    found = run_node("Upsample", x, scales, opset=9, known=[1], mode="linear")
    np.testing.assert_allclose(found, [[[[1.0, 2.0, 3.0, 3.0]]]])


def test_opset_10_resizes_as_upsample_did():
    x = array(1, 1, 2, 2)
    scales = np.array([1, 1, 2, 2], F32)
    found = run_node("Resize", x, scales, opset=10, known=[1], mode="nearest")
    np.testing.assert_array_equal(found, x.repeat(2, 2).repeat(2, 3))


def test_before_opset_10_slices_and_counts_are_attributes():
    x = array(4, 5)
    found = run_node("Slice", x, opset=9, axes=[1], starts=[-3], ends=[2**62])
    np.testing.assert_array_equal(found, x[:, -3:])
    found, where = run_node("TopK", x, opset=9, k=2, outputs=2, kind=[1, 7])
    np.testing.assert_array_equal(found, -np.sort(-x, 1)[:, :2])
    np.testing.assert_array_equal(where, np.argsort(-x, 1)[:, :2])


def test_before_opset_11_bounds_and_paddings_are_attributes():
    x = array(3, 2)
    found = run_node("Clip", x, opset=6, min=-0.5, max=0.25)
    np.testing.assert_array_equal(found, np.clip(x, F32(-0.5), F32(0.25)))
    found = run_node("Pad", x, opset=2, pads=[1, 0, 0, 2], value=7.0)
    np.testing.assert_array_equal(found, np.pad(x, [(1, 0), (0, 2)], constant_values=7))
    found = run_node("Pad", x, opset=2, pads=[-1, 0, 0, 0])
    np.testing.assert_array_equal(found, x[1:])


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_before_opset_13_rows_are_all_dimensions_from_the_axis_on(op_type):
    x = array(2, 3, 4)
    rows = x.reshape(2, 12)
    powers = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
    expected = {"Softmax": powers, "LogSoftmax": np.log(powers)}.get(
        op_type, (rows == rows.max(1, keepdims=True)).astype(F32)
    )
    found = run_node(op_type, x, opset=11)
    np.testing.assert_allclose(found, expected.reshape(x.shape), rtol=1e-5, atol=1e-6)
    found = run_node(op_type, x, opset=13)
    if op_type == "Softmax":
        np.testing.assert_allclose(found.sum(2), np.ones((2, 3)), rtol=1e-6)


def test_before_opset_13_axes_and_sections_are_attributes():
    x = array(2, 1, 6)
    assert run_node("Squeeze", x, opset=11, axes=[1]).shape == (2, 6)
    assert run_node("Unsqueeze", x, opset=11, axes=[0, -1]).shape == (1, 2, 1, 6, 1)
    parts = run_node("Split", x, opset=11, axis=2, split=[1, 5], outputs=2)
    assert [part.shape for part in parts] == [(2, 1, 1), (2, 1, 5)]
    found = run_node("ReduceSum", x, opset=11, axes=[0, 2], keepdims=0)
    np.testing.assert_allclose(found, x.sum((0, 2)), rtol=1e-6)


def test_before_opset_18_parts_are_equal_and_axes_of_extremes_are_attributes():
    x = array(2, 6)
    parts = run_node("Split", x, opset=13, axis=1, outputs=3)
    np.testing.assert_array_equal(np.concatenate(parts, 1), x)
    with pytest.raises(Unsupported, match="an extent of 6 must fall into equal parts, got 4"):
        run_node("Split", x, opset=13, axis=1, outputs=4)
    found = run_node("ReduceMax", x, opset=13, axes=[-1])
    np.testing.assert_array_equal(found, x.max(1, keepdims=True))


def test_a_reshape_of_opset_1_has_its_shape_as_an_attribute():
    assert run_node("Reshape", array(2, 3), opset=1, shape=[3, 2]).shape == (3, 2)


def test_integers_are_divided_toward_zero_and_their_remainder_has_the_sign_that_is_asked_for():
    x, y = np.array([-7, 7, -7]), np.array([2, -2, -2])
    kind = TensorProto.INT64
    np.testing.assert_array_equal(run_node("Div", x, y, kind=kind), [-3, -3, 3])
    np.testing.assert_array_equal(run_node("Mod", x, y, kind=kind), [1, -1, -1])
    np.testing.assert_array_equal(run_node("Mod", x, y, kind=kind, fmod=1), [-1, 1, -1])


def test_an_index_may_count_from_the_end():
    x = array(4, 2)
    found = run_node("Gather", x, np.array([-1, 0, -4]))
    np.testing.assert_array_equal(found, x[[-1, 0, -4]])


def test_a_branch_is_taken_while_the_program_runs_and_both_have_gradients():
    def graph(name, factor):
        node = helper.make_node("Mul", ["x", "w"], ["out"])
        return helper.make_graph(
            [node], name, [], [value("out", [2])], [tensor("w", [factor, factor])]
        )

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=graph("then", 2.0), else_branch=graph("else", 3.0)
    )
    inputs = [value("x", [2]), value("c", [1], TensorProto.BOOL)]
    model = model_of([node], inputs, [value("y", [2])])
    x = np.ones(2, F32)
    np.testing.assert_array_equal(run(model, {"x": x, "c": [True]})[0], [2.0, 2.0])
    np.testing.assert_array_equal(run(model, {"x": x, "c": [False]})[0], [3.0, 3.0])
