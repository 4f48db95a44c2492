"""Tests of fluidcore.initializer and param_attr."""

import math

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.base.dtypes import numpy_dtype
from fluidcore.initializer import (
    MSRA,
    Bilinear,
    BilinearInitializer,
    Constant,
    MSRAInitializer,
    Normal,
    NumpyArray,
    NumpyArrayInitializer,
    TruncatedNormal,
    TruncatedNormalInitializer,
    Uniform,
    Xavier,
)


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


def test_truncated_normal_stays_within_two_deviations_of_its_mean():
    values = (initialized(TruncatedNormal(1.0, 2.0, seed=3)) - 1.0) / 2.0
    assert 1.9 < abs(values).max() <= 2.0
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 0.8796) < 0.02  # of a normal distribution without its tails
    assert startup_op().type == "truncated_gaussian_random"


def test_fluids_long_names_are_the_same_classes():
    assert TruncatedNormal is TruncatedNormalInitializer
    assert NumpyArray is NumpyArrayInitializer
    assert MSRA is MSRAInitializer
    assert Bilinear is BilinearInitializer


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "bool"]
)
def test_an_array_gives_its_elements(dtype):
    array = np.array([[0, 1], [1, 0]])
    if dtype.startswith(("f", "bf")):
        array = array + 0.1
    layers.create_parameter([2, 2], dtype, attr=fluid.ParamAttr("w", NumpyArray(array)))
    fluid.Executor().run(fluid.default_startup_program())
    got = np.asarray(fluid.global_scope().find_var("w").get_tensor())
    assert got.dtype == numpy_dtype(dtype)
    np.testing.assert_array_equal(got, array.astype(numpy_dtype(dtype)))


def test_an_array_is_copied_and_must_fit():
    array = np.ones([2])
    given = NumpyArray(array)
    array[:] = 5
    assert initialized(given, [2]).tolist() == [1.0, 1.0]
    message = r"NumpyArray: the value must have the shape of 'v', \[3\], got \[2\]"
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.create_parameter([3], "float32", attr=fluid.ParamAttr("v", given))
    for value, dtype in ((0.5, "int64"), (1e300, "float32"), (2**40, "int32"), (np.nan, "int16")):
        message = f"NumpyArray: the value must hold numbers that {dtype} can hold, as 'v' is, got"
        attr = fluid.ParamAttr("v", NumpyArray([value]))
        with pytest.raises(fluid.InvalidArgument, match=message):
            layers.create_parameter([1], dtype, attr=attr)
    with pytest.raises(
        TypeError, match="NumpyArray: value must be an array of numbers, got 'text'"
    ):
        NumpyArray("text")


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_bilinear_weights_enlarge_a_ramp_to_a_ramp(factor):
    size = 2 * factor - factor % 2
    weight = initialized(Bilinear(), [1, 1, size, size])[0, 0]
    padding = math.ceil((factor - 1) / 2)
    image = np.add.outer(2.0 * np.arange(6), np.arange(6))
    large = np.zeros([5 * factor + size] * 2)
    for (i, j), value in np.ndenumerate(image):
        large[i * factor : i * factor + size, j * factor : j * factor + size] += value * weight
    inside = large[padding:, padding:][factor : 4 * factor, factor : 4 * factor]
    np.testing.assert_allclose(np.diff(inside, axis=0), 2 / factor, rtol=1e-6)
    np.testing.assert_allclose(np.diff(inside, axis=1), 1 / factor, rtol=1e-6)


def test_bilinear_needs_a_square_window():
    message = r"Bilinear: '.*' must have the shape \[out, in, k, k\], got \[1, 1, 2, 3\]"
    with pytest.raises(fluid.InvalidArgument, match=message):
        layers.create_parameter([1, 1, 2, 3], "float32", attr=Bilinear())


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
@pytest.mark.parametrize(
    "initializer",
    [
        Constant(1.0),
        Uniform(1.0, 2.0),
        Normal(1.5, 0.01),
        TruncatedNormal(1.5, 0.25),
        NumpyArray(np.full([4, 4], 1.25)),
    ],
)
def test_every_floating_dtype(initializer, dtype):
    values = initialized(initializer, (4, 4), dtype)
    assert ((values >= 1.0) & (values <= 2.0)).all()


def test_impossible_arguments_are_refused():
    with pytest.raises(ValueError, match="low must be at most high"):
        Uniform(2.0, 1.0)
    for kind in (Normal, TruncatedNormal):
        with pytest.raises(ValueError, match=f"^{kind.__name__[:-11]}: scale must be at least 0"):
            kind(0.0, -1.0)


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
