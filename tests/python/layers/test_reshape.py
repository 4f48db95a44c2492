"""layers.reshape where the extents are numbers of the program."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers

X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def data(name: str, shape: list[int], dtype: str = "float32") -> fluid.Variable:
    return layers.data(name, shape, dtype=dtype, append_batch_size=False, stop_gradient=False)


def test_a_tensor_says_the_extents_of_each_run() -> None:
    x, extents = data("x", [-1, 6]), data("extents", [2], "int32")
    y = layers.reshape(x, [-1, -1], actual_shape=extents, act="exp")
    assert list(y.shape) == [-1, -1]
    (grad,) = fluid.gradients([layers.reduce_sum(layers.square(y))], [x])
    (second,) = fluid.gradients([layers.reduce_sum(grad)], [x])
    exe = fluid.Executor()
    for shape in ((3, 8), (8, 3), (24, 1), (3, 8), (-1, 12)):
        feed = {"x": X, "extents": np.array(shape, np.int32)}
        values = exe.run(feed=feed, fetch_list=[y, grad, second])
        np.testing.assert_allclose(values[0], np.exp(X).reshape(shape), rtol=1e-6)
        np.testing.assert_allclose(values[1], 2 * np.exp(2 * X), rtol=1e-5)
        np.testing.assert_allclose(values[2], 4 * np.exp(2 * X), rtol=1e-5)


def test_the_extents_may_be_calculated_and_layers_may_follow() -> None:
    x = data("x", [-1, 6])
    extents = layers.cast(
        layers.concat([layers.assign(np.array([-1])), data("n", [1], "int64")]), "int32"
    )
    y = layers.fc(layers.reshape(x, [-1, 3], actual_shape=extents), 2)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    (value,) = exe.run(feed={"x": X, "n": np.array([3])}, fetch_list=[y])
    assert value.shape == (8, 2)
    with pytest.raises(fluid.InvalidArgument, match=r"Shape must agree with shape \[-1, 3\], got"):
        exe.run(feed={"x": X, "n": np.array([4])}, fetch_list=[y])


def test_in_a_loop_the_extents_must_stay_the_same() -> None:
    x, total = data("x", [12]), layers.fill_constant([1], "float32", 0.0)
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 3)
    step = data("step", [1], "int64")
    cond = layers.less_than(i, n)
    loop = layers.While(cond)
    with loop.block():
        extents = layers.concat([i * step + 3, layers.assign(np.array([-1]))])
        y = layers.reshape(x, [-1, -1], actual_shape=extents)
        layers.assign(total + layers.reduce_sum(layers.reduce_max(y, 1)), output=total)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    feed = {"x": np.arange(12, dtype=np.float32)}
    exe = fluid.Executor()
    (value,) = exe.run(feed={**feed, "step": np.array([0])}, fetch_list=[total])
    assert value == 3 * (3 + 7 + 11)
    message = "reshape: must give the same extents in every step of a loop, got "
    with pytest.raises(fluid.InvalidArgument, match=message):
        exe.run(feed={**feed, "step": np.array([1])}, fetch_list=[total])
