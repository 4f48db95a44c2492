"""Layers of one's own, written with LayerHelper as in Fluid."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore.initializer import Constant
from fluidcore.layer_helper import LayerHelper


def scaled_fc(
    input, size, factor=2.0, param_attr=None, bias_attr=None, act=None, name=None, **ignored
):
    helper = LayerHelper("scaled_fc", **locals())
    dtype = helper.input_dtype()
    products = []
    for input_var, attr in helper.iter_inputs_and_params():
        w = helper.create_parameter(attr=attr, shape=[input_var.shape[1], size], dtype=dtype)
        tmp = helper.create_tmp_variable(dtype)
        helper.append_op(type="mul", inputs={"X": input_var, "Y": w}, outputs={"Out": tmp})
        products.append(tmp)
    total = helper.create_tmp_variable(dtype)
    helper.append_op(type="sum", inputs={"X": products}, outputs={"Out": total})
    out = helper.create_tmp_variable(dtype)
    helper.append_op(
        type="scale", inputs={"X": [total]}, outputs={"Out": [out]}, attrs={"scale": factor}
    )
    return helper.append_activation(helper.append_bias_op(out, dim_start=1))


def test_a_layer_has_parameters_bias_and_activation():
    x = fluid.layers.data("x", [2])
    y = fluid.layers.data("y", [3])
    out = scaled_fc([x, y], 4, param_attr=Constant(1.0), act="relu", name="mine")
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names == ["mine.w_0", "mine.w_1", "mine.b_0"]
    assert out.shape == (-1, 4)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((1, 2), "float32"), "y": np.ones((1, 3), "float32")}
    (value,) = exe.run(feed=feed, fetch_list=[out])
    assert value.tolist() == [[10.0] * 4]
    fluid.append_backward(fluid.layers.mean(out))


def test_a_layer_without_a_bias_and_with_attributes_of_the_activation():
    x = fluid.layers.data("x", [2])
    act = {"type": "leaky_relu", "alpha": 0.5}
    scaled_fc(x, 1, param_attr=Constant(-1.0), bias_attr=False, act=act)
    op = fluid.default_main_program().global_block().ops[-1]
    assert (op.type, op.attr("alpha")) == ("leaky_relu", 0.5)


def test_variables_that_live_between_runs_are_made_and_filled():
    helper = LayerHelper("counter")
    state = helper.create_global_variable(
        name="state", persistable=True, shape=[1], dtype="float32"
    )
    helper.set_variable_initializer(state, Constant(3.0))
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    assert fluid.fetch_var("state").tolist() == [3.0]
    assert helper.name.startswith("counter")


def test_what_does_not_fit_is_an_error():
    x = fluid.layers.data("x", [2])
    i = fluid.layers.data("i", [2], dtype="int64")
    helper = LayerHelper("mine", input=[x, i], param_attr=["a"], size="4")
    with pytest.raises(fluid.InvalidArgument) as error:
        helper.input_dtype()
    assert str(error.value) == "mine: input must be of one dtype, got ['float32', 'int64']"
    with pytest.raises(fluid.InvalidArgument) as error:
        helper.input()
    assert str(error.value) == "mine: input must be one Variable, got 2"
    with pytest.raises(ValueError, match="must be a param_attr for each of 2 inputs, got 1"):
        list(helper.iter_inputs_and_params())
    with pytest.raises(ValueError, match="'x' must be a parameter"):
        helper.get_parameter("x")
    with pytest.raises(TypeError, match="size must be int, got '4'"):
        helper.is_instance("size", int)
