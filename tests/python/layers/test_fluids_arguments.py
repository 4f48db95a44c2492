"""Calls with Fluid's arguments, in Fluid's order, mean what they meant there."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

# The leading parameters of Fluid's layers.
SIGNATURES = {
    "accuracy": "input label k correct total",
    "argsort": "input axis",
    "assign": "input output",
    "batch_norm": (
        "input act is_test momentum epsilon param_attr bias_attr data_layout in_place name "
        "moving_mean_name moving_variance_name"
    ),
    "brelu": "x t_min t_max",
    "cast": "x dtype",
    "clip": "x min max",
    "clip_by_norm": "x max_norm",
    "concat": "input axis name",
    "conv2d": (
        "input num_filters filter_size stride padding dilation groups param_attr bias_attr "
        "use_cudnn act name"
    ),
    "conv2d_transpose": (
        "input num_filters output_size filter_size padding stride dilation groups param_attr "
        "bias_attr use_cudnn act name"
    ),
    "conv3d": (
        "input num_filters filter_size stride padding dilation groups param_attr bias_attr "
        "use_cudnn act name"
    ),
    "cos_sim": "X Y",
    "create_global_var": "shape value dtype persistable force_cpu name",
    "create_parameter": "shape dtype name attr is_bias default_initializer",
    "crop": "x shape offsets name",
    "cross_entropy": "input label soft_label ignore_index",
    "data": "name shape",
    "dropout": "x dropout_prob is_test seed name",
    "elementwise_add": "x y axis",
    "elementwise_div": "x y axis",
    "elementwise_max": "x y axis",
    "elementwise_min": "x y axis",
    "elementwise_mul": "x y axis",
    "elementwise_pow": "x y axis",
    "elementwise_sub": "x y axis",
    "elu": "x alpha",
    "embedding": "input size is_sparse is_distributed padding_idx param_attr dtype",
    "equal": "x y cond",
    "expand": "x expand_times",
    "fc": "input size num_flatten_dims param_attr bias_attr act is_test name",
    "fill_constant": "shape dtype value force_cpu out",
    "fill_constant_batch_size_like": "input shape dtype value input_dim_idx output_dim_idx",
    "flatten": "x axis",
    "gather": "input index",
    "hard_sigmoid": "x slope offset",
    "increment": "x value in_place",
    "l2_normalize": "x axis epsilon name",
    "label_smooth": "label prior_dist epsilon dtype name",
    "layer_norm": ("input scale shift begin_norm_axis epsilon param_attr bias_attr act name"),
    "leaky_relu": "x alpha",
    "less_than": "x y force_cpu cond",
    "log_loss": "input label epsilon name",
    "lrn": "input n k alpha beta name",
    "lstm_unit": "x_t hidden_t_prev cell_t_prev forget_bias param_attr bias_attr name",
    "matmul": "x y transpose_x transpose_y name",
    "maxout": "x groups",
    "mean": "x",
    "mul": "x y x_num_col_dims y_num_col_dims name",
    "multiplex": "inputs index",
    "one_hot": "input depth",
    "ones": "shape dtype force_cpu",
    "pad": "x paddings pad_value",
    "pool2d": (
        "input pool_size pool_type pool_stride pool_padding global_pooling use_cudnn ceil_mode name"
    ),
    "pool3d": (
        "input pool_size pool_type pool_stride pool_padding global_pooling use_cudnn ceil_mode name"
    ),
    "pow": "x factor",
    "prelu": "x mode param_attr name",
    "reduce_max": "input dim keep_dim name",
    "reduce_mean": "input dim keep_dim name",
    "reduce_min": "input dim keep_dim name",
    "reduce_prod": "input dim keep_dim name",
    "reduce_sum": "input dim keep_dim name",
    "relu6": "x threshold",
    "reshape": "x shape actual_shape act inplace name",
    "scale": "x scale",
    "scatter": "input index updates name",
    "smooth_l1": "x y inside_weight outside_weight sigma",
    "soft_relu": "x threshold",
    "softmax_with_cross_entropy": "logits label soft_label ignore_index",
    "split": "input num_or_sections dim name",
    "square_error_cost": "input label",
    "stanh": "x scale_a scale_b",
    "sums": "input out",
    "swish": "x beta",
    "topk": "input k name",
    "transpose": "x perm name",
    "unstack": "x axis num",
    "zeros": "shape dtype force_cpu",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_positions_are_those_of_fluid(name: str) -> None:
    parameters = inspect.signature(getattr(layers, name)).parameters.values()
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    wanted = SIGNATURES[name].split()
    assert positional[: len(wanted)] == wanted


def run(*fetches: Any, **feed: Any) -> list[Any]:
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=list(fetches))


X = np.array([[-1.0, 2.0], [3.0, -4.0]], np.float32)


def test_a_layer_of_one_operator_may_have_an_activation() -> None:
    x = layers.data("x", [2])
    total = layers.elementwise_add(x, x, -1, act="relu")
    scaled = layers.scale(x, 0.5, act="abs")
    values = run(total, scaled, x=X)
    np.testing.assert_array_equal(values[0], np.maximum(2 * X, 0))
    np.testing.assert_array_equal(values[1], np.abs(X) / 2)


def test_an_activation_that_is_none_leaves_nothing_behind() -> None:
    x = layers.data("x", [2])
    before = str(fluid.default_main_program())
    with pytest.raises(fluid.core.NotFound, match="'rely'"):
        layers.elementwise_add(x, x, act="rely")
    assert str(fluid.default_main_program()) == before


def test_none_is_the_default_of_windows() -> None:
    x = layers.data("x", [1, 4, 4])
    images = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    attr = fluid.ParamAttr("filter", initializer=fluid.initializer.Constant(1.0))
    convolved = layers.conv2d(x, 1, 2, None, None, None, None, attr, False, False, "relu")
    pooled = layers.pool2d(x, 2, "max", None, None)
    values = run(convolved, pooled, x=images)
    assert values[0].shape == values[1].shape == (1, 1, 3, 3)
    assert values[0][0, 0, 0, 0] == 0 + 1 + 4 + 5
    assert values[1][0, 0, 0, 0] == 5


def test_a_label_that_is_ignored_costs_nothing() -> None:
    x = layers.data("x", [2])
    label = layers.data("label", [1], dtype="int64")
    loss = layers.softmax_with_cross_entropy(x, label, False, 1)
    probabilities = layers.cross_entropy(layers.softmax(x), label, False, 1)
    for value in run(loss, probabilities, x=X, label=np.array([[0], [1]])):
        assert value[0] > 0
        assert value[1] == 0


def test_l2_normalize_gives_rows_of_length_one() -> None:
    x = layers.data("x", [2])
    (value,) = run(layers.l2_normalize(x, -1), x=X)
    np.testing.assert_allclose(value, X / np.linalg.norm(X, axis=1, keepdims=True), rtol=1e-6)
    (value,) = run(layers.l2_normalize(x, 1), x=np.zeros((1, 2), np.float32))
    np.testing.assert_array_equal(value, [[0, 0]])


def test_what_chooses_kernels_in_fluid_is_accepted_and_left_out() -> None:
    image = layers.data("image", [1, 4, 4])
    hints = {"use_cudnn": True, "use_mkldnn": True}
    layers.conv2d(image, 1, 2, **hints)
    layers.pool2d(image, 2, **hints)
    layers.fc(image, 2, use_mkldnn=True)
    out = layers.softmax(input=layers.relu(image, **hints), **hints)
    attrs = {**hints, "workspace_size_MB": 16}
    op = out.block.append_op("tanh", {"X": out}, {"Out": "t"}, attrs)
    assert op.desc.attrs() == {}


def test_the_first_input_may_be_named_input() -> None:
    x = layers.data("x", [2])
    values = run(
        layers.slice(input=x, axes=[1], starts=[0], ends=[1]),
        layers.unsqueeze(input=x, axes=[1]),
        layers.log_loss(input=layers.sigmoid(x), label=layers.sigmoid(input=x)),
        x=X,
    )
    np.testing.assert_array_equal(values[0], X[:, :1])
    np.testing.assert_array_equal(values[1], X[:, None])
    assert values[2].shape == X.shape
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        layers.softmax(x, input=x)


def test_the_arguments_of_arange_are_those_of_numpy() -> None:
    given: list[tuple[float, ...]] = [(5,), (2, 5), (0, 5, 2), (5, 0, -2), (0.5, 2), (3, 3)]
    for args, value in zip(given, run(*(layers.arange(*args) for args in given)), strict=True):
        np.testing.assert_array_equal(value, np.arange(*args))
        assert value.dtype.kind == np.arange(*args).dtype.kind
    assert layers.arange(3, dtype="float16").dtype == "float16"
    with pytest.raises(fluid.InvalidArgument, match=r"^arange: start, end and step must be"):
        layers.arange(0, 3, 0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool"])
def test_an_array_may_be_assigned(dtype: str) -> None:
    array = np.array([[1, 0, 1]], dtype)
    (value,) = run(layers.assign(array))
    assert value.dtype == dtype
    np.testing.assert_array_equal(value, array)


def test_a_list_of_one_variable_stands_for_it():
    x = layers.data("x", [2])
    branches = layers.IfElse(
        layers.less_than(layers.reduce_sum(x, 1, True), layers.ones([1], "float32"))
    )
    with branches.true_block():
        branches.output(branches.input(x) * 2)
    with branches.false_block():
        branches.output(branches.input(x))
    found = branches()
    feed = {"x": np.float32([[0, 0.25], [3, 4]])}
    total, mean = fluid.Executor().run(
        feed=feed, fetch_list=[layers.reduce_sum(found), layers.mean(found)]
    )
    assert (total.item(), mean.item()) == (7.5, 1.875)
    for wrong in ([x, x], [], [3]):
        with pytest.raises(TypeError, match="reduce_sum: input must be a Variable"):
            layers.reduce_sum(wrong)
        with pytest.raises(TypeError, match="mean: x must be a Variable"):
            layers.mean(wrong)
