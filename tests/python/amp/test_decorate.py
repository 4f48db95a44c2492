"""Training in 16 bits with parameters in float32."""

import numpy as np
import pytest

import fluidcore as fluid
from fluidcore import layers
from fluidcore.amp import DynamicLossScaling, decorate
from fluidcore.base.dtypes import HALF

POINTS = np.random.default_rng(0).uniform(-1, 1, (64, 2)).astype(np.float32)
FEED = {"x": POINTS, "label": (POINTS[:, :1] > POINTS[:, 1:]).astype(np.int64)}


def network():
    x = layers.data("x", [2])
    label = layers.data("label", [1], dtype="int64")
    logits = layers.fc(layers.fc(x, 16, act="tanh"), 2)
    return layers.mean(layers.softmax_with_cross_entropy(logits, label))


def train(loss, steps):
    fluid.default_startup_program().random_seed = 3
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    return [exe.run(feed=FEED, fetch_list=[loss])[0].item() for _ in range(steps)]


def losses(optimizer, steps=60):
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        loss = network()
        optimizer.minimize(loss)
        return train(loss, steps)


@pytest.mark.parametrize("dtype", sorted(HALF))
def test_the_loss_falls_as_in_float32(dtype):
    exact = losses(fluid.optimizer.Adam(0.02))
    scaling = DynamicLossScaling(init=256.0)
    rounded = losses(decorate(fluid.optimizer.Adam(0.02), dtype=dtype, scaling=scaling))
    assert exact != rounded
    np.testing.assert_allclose(rounded, exact, atol=0.02)


def test_parameters_their_gradients_and_the_state_are_float32():
    loss = network()
    updates, pairs = decorate(fluid.optimizer.Adam(0.02)).minimize(loss)
    assert {variable.dtype for pair in pairs for variable in pair} == {"float32"}
    block = fluid.default_main_program().global_block()
    (adam, *_) = (op for op in updates if op.type == "adam")
    assert {block.var(name).dtype for name in adam.input_arg_names} == {"float32"}


def held(names):
    scope = fluid.global_scope()
    return [np.array(scope.find_var(name).get_tensor()) for name in names]


def test_a_step_whose_gradients_overflow_changes_nothing_but_the_factor():
    loss = network()
    scaling = DynamicLossScaling(init=2.0**60, growth_interval=2, backoff=2.0**-50)
    optimizer = decorate(fluid.optimizer.Adam(0.02), dtype="float16", scaling=scaling)
    optimizer.minimize(loss)
    fluid.default_startup_program().random_seed = 3
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    factor = optimizer.loss_scaling.name
    names = [
        var.name
        for var in fluid.default_main_program().list_vars()
        if var.persistable and var.name != factor
    ]
    before = held(names)
    exe.run(feed=FEED, fetch_list=[loss])
    for old, new in zip(before, held(names), strict=True):
        np.testing.assert_array_equal(old, new)
    assert held([factor])[0] == 2.0**10
    exe.run(feed=FEED, fetch_list=[loss])
    assert any(np.any(old != new) for old, new in zip(before, held(names), strict=True))
    assert held([factor])[0] == 2.0**10
    exe.run(feed=FEED, fetch_list=[loss])
    assert held([factor])[0] == 2.0**11


def test_a_scaled_step_is_the_step():
    plain = losses(decorate(fluid.optimizer.Adam(0.02)), 10)
    scaled = losses(decorate(fluid.optimizer.Adam(0.02), scaling=DynamicLossScaling(64.0)), 10)
    np.testing.assert_allclose(scaled, plain, rtol=1e-3)


def test_after_an_error_the_program_is_as_it_was():
    x = layers.data("x", [2])
    loss = layers.fc(x, 3)
    program, startup = fluid.default_main_program(), fluid.default_startup_program()
    before = str(program), str(startup)
    with pytest.raises(fluid.InvalidArgument, match="one number"):
        decorate(fluid.optimizer.SGD(0.1)).minimize(loss)
    assert (str(program), str(startup)) == before


def test_selected_rows_are_not_scaled():
    ids = layers.data("ids", [1], dtype="int64")
    loss = layers.mean(layers.embedding(ids, [8, 4], is_sparse=True))
    before = str(fluid.default_main_program())
    with pytest.raises(fluid.InvalidArgument, match="must be a tensor where the loss is scaled"):
        decorate(fluid.optimizer.SGD(0.1), dtype="float16").minimize(loss)
    assert str(fluid.default_main_program()) == before
    decorate(fluid.optimizer.SGD(0.1)).minimize(loss)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"optimizer": 3}, TypeError, "must be an Optimizer, got int"),
        ({"dtype": "int8"}, fluid.InvalidArgument, "must be one of .*, got 'int8'"),
        ({"lists": {}}, TypeError, "must be amp.Lists, got dict"),
        ({"scaling": 8.0}, TypeError, "must be amp.DynamicLossScaling, got float"),
        ({"scaling": DynamicLossScaling(0.5)}, ValueError, r"init must be at least 1.0, got 0.5"),
        ({"scaling": DynamicLossScaling(backoff=2)}, ValueError, r"backoff must be in \(0.0, 1.0"),
        ({"scaling": DynamicLossScaling(growth_interval=0)}, ValueError, "of at least 1, got 0"),
    ],
)
def test_arguments_are_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        decorate(**({"optimizer": fluid.optimizer.SGD(0.1)} | arguments))
