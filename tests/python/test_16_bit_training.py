"""Programs whose tensors have 16 bits, from the initializers to the optimizer."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.base.dtypes import HALF, numpy_dtype

OPTIMIZERS = {
    "SGD": lambda: fluid.optimizer.SGD(0.5),
    "Momentum": lambda: fluid.optimizer.Momentum(0.1, 0.9),
    "Adam": lambda: fluid.optimizer.Adam(0.02),
}


def losses_of_an_mlp(dtype, optimizer, steps=60):
    """The loss in each step of learning which of two numbers is the larger one."""
    x = layers.data("x", [2], dtype=dtype)
    label = layers.data("label", [1], dtype="int64")
    hidden = layers.fc(x, 16, act="tanh")
    logits = layers.fc(layers.layer_norm(hidden), 2)
    loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))
    optimizer.minimize(loss)
    fluid.default_startup_program().random_seed = 3
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    points = np.random.default_rng(0).uniform(-1, 1, (64, 2)).astype(numpy_dtype(dtype))
    feed = {"x": points, "label": (points[:, :1] > points[:, 1:]).astype(np.int64)}
    return [exe.run(feed=feed, fetch_list=[loss])[0] for _ in range(steps)]


@pytest.mark.parametrize("dtype", sorted(HALF))
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_mlp_learns(dtype, name):
    losses = losses_of_an_mlp(dtype, OPTIMIZERS[name]())
    assert losses[0].dtype == numpy_dtype(dtype)
    assert float(losses[-1].reshape(())) < 0.2 < 0.5 < float(losses[0].reshape(()))
    parameters = fluid.default_main_program().all_parameters()
    assert {parameter.dtype for parameter in parameters} == {dtype}


@pytest.mark.parametrize("dtype", sorted(HALF))
def test_the_state_of_adam_has_the_dtype_of_the_parameter_and_its_powers_are_float32(dtype):
    losses_of_an_mlp(dtype, fluid.optimizer.Adam(0.02), steps=1)
    block = fluid.default_main_program().global_block()
    (update, *_) = (op for op in block.ops if op.type == "adam")
    dtypes = {slot: block.var(update.input(slot)[0]).dtype for slot in update.desc.inputs()}
    state = ("Param", "Grad", "Moment1", "Moment2")
    scalars = ("LearningRate", "Beta1Pow", "Beta2Pow")
    assert dtypes == dict.fromkeys(state, dtype) | dict.fromkeys(scalars, "float32")


def test_a_convolution_of_bfloat16_is_differentiated():
    x = layers.data("x", [3, 8, 8], dtype="bfloat16")
    hidden = layers.conv2d(x, 16, 3, padding=1, act="relu")
    pooled = layers.pool2d(hidden, 2, pool_type="max", pool_stride=2)
    loss = layers.mean(layers.fc(pooled, 1))
    pairs = fluid.append_backward(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((4, 3, 8, 8), numpy_dtype("bfloat16"))}
    grads = exe.run(feed=feed, fetch_list=[grad for _, grad in pairs])
    assert all(grad.dtype == numpy_dtype("bfloat16") for grad in grads)
    assert all(np.isfinite(grad.astype(np.float32)).all() for grad in grads)
