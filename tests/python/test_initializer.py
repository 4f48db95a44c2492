"""Tests of fluidcore.initializer and param_attr."""

import math

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.initializer import MSRA, Constant, Normal, Uniform, Xavier


def initialized(initializer, shape=(200, 100), dtype="float32"):
    layers.create_parameter(shape, dtype, attr=fluid.ParamAttr("w", initializer))
    fluid.Executor().run(fluid.default_startup_program())
    return np.asarray(fluid.global_scope().find_var("w").get_tensor()).astype(np.float64)


def startup_op():
    return fluid.default_startup_program().global_block().ops[-1]


def test_constant():
    assert (initialized(Constant(2.5), (3, 2)) == 2.5).all()


def test_uniform_stays_within_its_bounds():
    values = initialized(Uniform(-2.0, 1.0, seed=3))
    assert values.min() >= -2.0
    assert values.max() < 1.0
    assert abs(values.mean() + 0.5) < 0.05


def test_normal_has_mean_and_deviation():
    values = initialized(Normal(1.0, 2.0, seed=3))
    assert abs(values.mean() - 1.0) < 0.1
    assert abs(values.std() - 2.0) < 0.1


def test_a_seed_gives_the_same_numbers_again():
    first = initialized(Normal(seed=3), (4, 4))
    fluid.Executor().run(fluid.default_startup_program())
    again = np.asarray(fluid.global_scope().find_var("w").get_tensor())
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    ("initializer", "limit"),
    [
        (Xavier(), math.sqrt(6 / 300)),
        (Xavier(fan_in=10, fan_out=20), math.sqrt(6 / 30)),
        (MSRA(), math.sqrt(6 / 200)),
        (MSRA(fan_in=50), math.sqrt(6 / 50)),
    ],
)
def test_limits_follow_from_the_fans(initializer, limit):
    layers.create_parameter([200, 100], "float32", attr=initializer)
    assert startup_op().attr("max") == pytest.approx(limit)
    assert startup_op().attr("min") == pytest.approx(-limit)


@pytest.mark.parametrize(
    ("initializer", "std"),
    [(Xavier(uniform=False), math.sqrt(2 / 300)), (MSRA(uniform=False), math.sqrt(2 / 200))],
)
def test_deviations_follow_from_the_fans(initializer, std):
    layers.create_parameter([200, 100], "float32", attr=initializer)
    assert startup_op().type == "gaussian_random"
    assert startup_op().attr("std") == pytest.approx(std)


def test_the_fans_of_a_convolution_count_the_window():
    layers.create_parameter([16, 8, 3, 3], "float32", attr=MSRA())
    assert startup_op().attr("max") == pytest.approx(math.sqrt(6 / 72))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("initializer", [Constant(1.0), Uniform(1.0, 2.0), Normal(1.5, 0.01)])
def test_every_floating_dtype(initializer, dtype):
    values = initialized(initializer, (4, 4), dtype)
    assert ((values >= 1.0) & (values <= 2.0)).all()


def test_impossible_arguments_are_refused():
    with pytest.raises(ValueError, match="low must be at most high"):
        Uniform(2.0, 1.0)
    with pytest.raises(ValueError, match="scale must be at least 0"):
        Normal(0.0, -1.0)


def test_param_attr_takes_many_forms():
    x = layers.data("x", [3])
    layers.fc(x, 2, param_attr="shared", bias_attr=Constant(1.0))
    layers.fc(x, 2, param_attr=fluid.ParamAttr("shared"), bias_attr=False)
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names == ["shared", "fc_0.b_0"]
    with pytest.raises(TypeError, match="param_attr and bias_attr must be a ParamAttr"):
        layers.fc(x, 2, param_attr=3)


def test_a_shared_parameter_must_fit():
    x = layers.data("x", [3])
    layers.fc(x, 2, param_attr="shared")
    with pytest.raises(fluid.InvalidArgument, match=r"got 'shared' of float32 \[3, 2\] where"):
        layers.fc(x, 4, param_attr="shared")
    assert len(fluid.default_main_program().all_parameters()) == 2


def test_trainable_and_factor_reach_the_parameter():
    attr = fluid.ParamAttr(trainable=False, learning_rate=0.1)
    w = layers.create_parameter([2], "float32", attr=attr)
    assert not w.trainable
    assert w.optimize_attr == {"learning_rate": 0.1}
