"""Tests of the layers that normalize each example by itself."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers


def run(out, x):
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    return exe.run(feed={"x": np.asarray(x, np.float32)}, fetch_list=[out])[0]


def test_each_example_has_mean_0_and_variance_1_at_first():
    x = layers.data("x", [3, 4])
    value = run(layers.layer_norm(x), np.random.default_rng(0).normal(5, 3, (2, 3, 4)))
    np.testing.assert_allclose(value.mean(axis=(1, 2)), 0, atol=1e-6)
    np.testing.assert_allclose(value.var(axis=(1, 2)), 1, rtol=1e-4)


def test_parameters_have_one_element_for_each_feature():
    x = layers.data("x", [3, 4])
    layers.layer_norm(x, begin_norm_axis=2, param_attr="s", bias_attr="b")
    block = fluid.default_main_program().global_block()
    assert [list(block.var(name).shape) for name in ("s", "b")] == [[4], [4]]


@pytest.mark.parametrize(
    ("settings", "slots"),
    [
        ({}, ["Bias", "Scale", "X"]),
        ({"scale": False}, ["Bias", "X"]),
        ({"bias_attr": False}, ["Scale", "X"]),
        ({"scale": False, "shift": False}, ["X"]),
    ],
)
def test_scale_and_shift_may_be_left_out(settings, slots):
    layers.layer_norm(layers.data("x", [3]), **settings)
    op = fluid.default_main_program().global_block().ops[-1]
    assert sorted(op.desc.inputs()) == slots


def test_an_activation_comes_last():
    x = layers.data("x", [3])
    value = run(layers.layer_norm(x, act="relu"), np.array([[1.0, 2.0, 3.0]]))
    np.testing.assert_allclose(value, [[0, 0, 1.2247357]], rtol=1e-5)


def test_a_dimension_that_there_is_not_is_an_error():
    message = r"layer_norm: begin_norm_axis must be in \[0, 2\) for input \[-1, 3\], got 2"
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.layer_norm(layers.data("x", [3]), begin_norm_axis=2)


def test_features_that_are_not_known_are_an_error():
    message = r"layer_norm: the extents from 0 on must be known, got 'x' of shape \[-1, 3\]"
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.layer_norm(layers.data("x", [3]), begin_norm_axis=0)


def test_rms_norm_scales_and_does_not_shift_at_first():
    x = layers.data("x", [4])
    value = run(layers.rms_norm(x), np.random.default_rng(0).normal(5, 3, (2, 4)))
    np.testing.assert_allclose((value * value).mean(axis=1), 1, rtol=1e-5)
    op = fluid.default_main_program().global_block().ops[-1]
    assert sorted(op.desc.inputs()) == ["Scale", "X"]


def test_group_norm_has_parameters_for_each_channel():
    x = layers.data("x", [6, 5])
    out = layers.group_norm(x, 3, param_attr="s", bias_attr="b")
    value = run(out, np.random.default_rng(0).normal(5, 3, (2, 6, 5)))
    np.testing.assert_allclose(value.reshape(2, 3, 10).mean(axis=2), 0, atol=1e-6)
    block = fluid.default_main_program().global_block()
    assert [list(block.var(name).shape) for name in ("s", "b")] == [[6], [6]]


def test_instance_norm_normalizes_each_channel():
    x = layers.data("x", [3, 40])
    out = layers.instance_norm(x, param_attr=False, bias_attr=False)
    value = run(out, np.random.default_rng(0).normal(5, 3, (2, 3, 40)))
    np.testing.assert_allclose(value.mean(axis=2), 0, atol=1e-6)
    np.testing.assert_allclose(value.var(axis=2), 1, rtol=1e-4)


@pytest.mark.parametrize("layer", ["group_norm", "instance_norm"])
def test_channels_that_are_not_known_are_an_error(layer):
    message = (
        f"{layer}: input must have at least two dimensions and known channels, "
        r"got \[-1, -1, 3\]"
    )
    given = {"groups": 1} if layer == "group_norm" else {}
    with pytest.raises(fluid.InvalidArgument, match=message):
        getattr(layers, layer)(layers.data("x", [-1, -1, 3]), **given)


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (2, 5, 6), (2, 6)])
def test_groups_of_channels_may_come_last(shape):
    x = layers.data("x", shape, append_batch_size=False)
    order = [0, len(shape) - 1, *range(1, len(shape) - 1)]
    first = layers.group_norm(layers.transpose(x, order), 3, param_attr="s", bias_attr="b")
    last = layers.group_norm(x, 3, param_attr="s", bias_attr="b", data_layout="NHWC")
    assert last.shape == shape
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": np.random.default_rng(0).standard_normal(shape, dtype=np.float32)}
    expected, value = exe.run(feed=feed, fetch_list=[first, last])
    np.testing.assert_array_equal(value.transpose(order), expected)
