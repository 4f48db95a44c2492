"""Tests of WeightNormParamAttr, and of the layers that take it."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.param_attr import WeightNormParamAttr

RNG = np.random.default_rng(4)


def started():
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    return exe


def value(name):
    return np.array(fluid.global_scope().find_var(name).get_tensor())


@pytest.mark.parametrize(("dim", "extents"), [(None, [1]), (0, [3, 1]), (1, [1, 2]), (-1, [1, 2])])
def test_a_weight_starts_as_its_initializer_says(dim, extents):
    weight = RNG.normal(size=(3, 2))
    attr = WeightNormParamAttr(dim, "w", fluid.initializer.NumpyArray(weight))
    x = layers.data("x", [3], dtype="float64")
    y = layers.fc(x, 2, param_attr=attr, bias_attr=False)
    exe = started()
    feed = {"x": RNG.normal(size=(4, 3))}
    (got,) = exe.run(feed=feed, fetch_list=[y])
    np.testing.assert_allclose(got, feed["x"] @ weight, rtol=1e-12)
    assert value("w_g").shape == tuple(extents)
    np.testing.assert_array_equal(value("w_v"), weight)


def test_the_gradient_of_the_lengths_is_that_along_the_directions():
    weight, data = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 3))
    attr = WeightNormParamAttr(1, "w", fluid.initializer.NumpyArray(weight))
    x = layers.data("x", [3], dtype="float64")
    loss = layers.reduce_sum(layers.fc(x, 2, param_attr=attr, bias_attr=False))
    found = fluid.append_backward(loss)
    assert [param.name for param, _ in found] == ["w_v", "w_g"]
    exe = started()
    of_v, of_g = exe.run(feed={"x": data}, fetch_list=[grad for _, grad in found])
    of_weight = data.T @ np.ones((4, 2))
    lengths = np.linalg.norm(weight, axis=0, keepdims=True)
    expected = (of_weight * weight / lengths).sum(axis=0, keepdims=True)
    np.testing.assert_allclose(of_g, expected, rtol=1e-12)
    np.testing.assert_allclose((of_v * weight).sum(axis=0), 0, atol=1e-12)  # w keeps its length


def test_a_convolution_has_a_length_for_each_filter():
    image = layers.data("image", [2, 5, 5])
    layers.conv2d(image, 4, 3, param_attr=WeightNormParamAttr(dim=0, name="k"), bias_attr=False)
    started()
    kernel = value("k_v")
    expected = np.sqrt((kernel**2).sum(axis=(1, 2, 3), keepdims=True))
    np.testing.assert_allclose(value("k_g"), expected, rtol=1e-6)


def test_layers_that_give_the_same_name_share_both_parameters():
    x = layers.data("x", [3])
    attr = WeightNormParamAttr(name="w", learning_rate=0.5, trainable=False)
    h = layers.fc(x, 3, param_attr=attr, bias_attr=False)
    layers.fc(h, 3, param_attr=attr, bias_attr=False)
    parameters = fluid.default_main_program().all_parameters()
    assert [parameter.name for parameter in parameters] == ["w_v", "w_g"]
    assert not any(parameter.trainable for parameter in parameters)
    assert {parameter.optimize_attr["learning_rate"] for parameter in parameters} == {0.5}


def test_what_cannot_be_normalized_is_an_error_that_leaves_nothing():
    x = layers.data("x", [3])
    program, startup = fluid.default_main_program(), fluid.default_startup_program()
    with pytest.raises(fluid.InvalidArgument) as refused:
        layers.fc(x, 2, param_attr=WeightNormParamAttr(dim=2))
    assert str(refused.value) == (
        "fc: dim of WeightNormParamAttr must be a dimension of the weight [3, 2], got 2"
    )
    with pytest.raises(fluid.InvalidArgument) as refused:
        layers.fc(x, 2, bias_attr=WeightNormParamAttr())
    assert str(refused.value) == (
        "fc: a WeightNormParamAttr is for the weight of a layer with one, got it for 'b'; give a "
        "ParamAttr"
    )
    with pytest.raises(TypeError, match="dim must be a whole number or None, got 'rows'"):
        WeightNormParamAttr(dim="rows")
    assert (program.all_parameters(), startup.global_block().vars) == ([], {})
