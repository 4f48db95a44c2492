import numpy as np
import pytest
from trained_network import assert_same, build, held, run, trained

import fluidcore as fluid
from fluidcore import layers
from fluidcore.optimizer import SGD, Adam, GradientAccumulation, Momentum
from fluidcore.regularizer import L2Decay

OPTIMIZERS = {
    "SGD": lambda: SGD(0.2),
    "SGD, decay": lambda: SGD(0.2, regularization=L2Decay(0.1)),
    "Momentum": lambda: Momentum(0.1, 0.9, use_nesterov=True),
    "Adam": lambda: Adam(0.05),
}
CLIPS = {
    "no clip": {},
    "clip": {"gradient_clip": fluid.GradientClipByNorm(0.01)},
    "own decay": {"regularizer": L2Decay(0.3), "learning_rate": 0.5},
}


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_three_small_batches_update_as_one_large_batch(name, clip):
    make, weight = OPTIMIZERS[name], CLIPS[clip]
    large = trained(lambda: build(make(), **weight), size=12, count=6)
    small = trained(lambda: build(GradientAccumulation(make(), 3), **weight), size=4, count=18)
    assert_same(small, large, rtol=1e-12)


def test_a_global_norm_is_that_of_the_whole_sum():
    def clipped(optimizer):
        def build_network():
            x = layers.data("x", [3], dtype="float64")
            y = layers.data("y", [1], dtype="float64")
            h = layers.fc(x, 4, act="tanh", param_attr="w1", bias_attr="b1")
            out = layers.fc(h, 1, param_attr="w2", bias_attr="b2")
            loss = layers.mean(layers.square_error_cost(out, y))
            fluid.set_gradient_clip(fluid.GradientClipByGlobalNorm(0.05))
            optimizer.minimize(loss)
            fluid.default_startup_program().random_seed = 3

        return build_network

    large = trained(clipped(SGD(0.2)), size=8, count=6)
    small = trained(clipped(GradientAccumulation(SGD(0.2), 2)), size=4, count=12)
    assert_same(small, large, rtol=1e-12)


def test_the_sum_is_that_of_a_loss_that_is_a_sum():
    large = trained(lambda: build(SGD(0.01), mean=False), size=12, count=4)

    def accumulated():
        build(GradientAccumulation(SGD(0.01), 3, average=False), mean=False)

    assert_same(trained(accumulated, size=4, count=12), large, rtol=1e-12)


def test_one_step_is_the_optimizer_itself():
    plain = trained(lambda: build(Adam(0.05)), size=4, count=5)
    assert_same(
        trained(lambda: build(GradientAccumulation(Adam(0.05), 1)), 4, 5), plain, rtol=1e-15
    )


def test_the_parameters_and_the_state_change_in_every_third_run_alone():
    build(GradientAccumulation(Adam(0.05), 3))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    state = ("w1", "w2", "w1_moment1_0", "beta1_pow_0")
    changed = []
    for step in range(6):
        before = held(state)
        run(exe, 4, step, 1)
        changed.append([bool(np.any(held(state)[name] != before[name])) for name in state])
    assert changed == 2 * [[False] * 4, [False] * 4, [True] * 4]


def test_a_training_that_was_saved_between_two_updates_goes_on(tmp_path):
    def build_network():
        build(GradientAccumulation(Momentum(0.1, 0.9), 4))

    whole = trained(build_network, size=4, count=12)
    build_network()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    run(exe, 4, 0, 6)
    fluid.io.save_persistables(exe, tmp_path)
    with fluid.scope_guard(fluid.Scope()):
        exe.run(fluid.default_startup_program())
        fluid.io.load_persistables(exe, tmp_path)
        run(exe, 4, 6, 6)
        assert_same(held(), whole, rtol=0)


def test_a_schedule_counts_runs_and_the_global_step_updates():
    step = layers.create_global_var([1], 0, "int64", persistable=True, name="updates")
    rate = layers.piecewise_decay([4], [0.5, 0.25])
    one = fluid.initializer.Constant(1.0)
    w = layers.create_parameter([2], "float32", "w", default_initializer=one)
    optimizer = GradientAccumulation(SGD(rate, global_step=step), 2)
    optimizer.minimize(layers.reduce_sum(w))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = []
    for _ in range(6):
        exe.run()
        seen.append((held(["w"])["w"][0], held(["updates"])["updates"].item()))
    assert seen == [(1, 0), (0.5, 1), (0.5, 1), (0, 2), (0, 2), (-0.25, 3)]


def test_backward_and_apply_gradients_are_its_halves():
    def in_halves():
        class Halves:
            def minimize(self, loss):
                optimizer = GradientAccumulation(SGD(0.2), 3)
                optimizer.apply_gradients(optimizer.backward(loss))

        build(Halves())

    whole = trained(lambda: build(GradientAccumulation(SGD(0.2), 3)), 4, 6)
    assert_same(trained(in_halves, 4, 6), whole, rtol=0)


def table_after(accumulates, is_sparse):
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.scope_guard(fluid.Scope()),
    ):
        ids = layers.data("ids", [1], dtype="int64")
        attr = fluid.ParamAttr("table", fluid.initializer.Constant(1.0))
        rows = layers.embedding(ids, [6, 2], is_sparse=is_sparse, param_attr=attr)
        optimizer = SGD(0.5)
        if accumulates:
            optimizer = GradientAccumulation(optimizer, 2)
        optimizer.minimize(layers.mean(layers.square(rows)))
        exe = fluid.Executor()
        exe.run(fluid.default_startup_program())
        batches = ([[1], [3]], [[3], [5]], [[0], [0]], [[2], [1]])
        if not accumulates:
            batches = [batches[0] + batches[1], batches[2] + batches[3]]
        for batch in batches:
            exe.run(feed={"ids": np.array(batch)})
        return held(["table"])["table"]


def test_selected_rows_are_added_up():
    expected = table_after(accumulates=False, is_sparse=False)
    np.testing.assert_allclose(table_after(True, is_sparse=True), expected, rtol=1e-6)
    np.testing.assert_allclose(table_after(True, is_sparse=False), expected, rtol=1e-6)


def test_gradients_of_16_bits_are_added_up_in_float32():
    one = fluid.initializer.Constant(1.0)
    w = layers.create_parameter([1], "bfloat16", "w", default_initializer=one)
    x = layers.data("x", [1], dtype="bfloat16", append_batch_size=False)
    GradientAccumulation(SGD(1.0), 3, average=False).minimize(layers.reduce_sum(w * x))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for value in (256.0, 1.0, -256.0):  # in bfloat16, 256 + 1 is 256
        exe.run(feed={"x": [value]})
    assert float(held(["w"])["w"][0]) == 0.0


def test_with_mixed_precision_a_run_that_overflows_does_not_count():
    x = layers.data("x", [2])
    w = fluid.ParamAttr("w", fluid.initializer.Constant(1.0))
    loss = layers.mean(layers.fc(x, 1, param_attr=w, bias_attr=False))
    optimizer = GradientAccumulation(SGD(0.5), 2)
    scaling = fluid.amp.DynamicLossScaling(init=8.0)
    fluid.amp.decorate(optimizer, dtype="float16", scaling=scaling).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = []
    for value in (1.0, 3e4, 3.0, 1.0):  # 8 * 3e4 is infinite in float16
        exe.run(feed={"x": np.full((1, 2), value, np.float32)})
        seen.append(held(["w"])["w"][0, 0])
    assert seen == [1.0, 1.0, 0.0, 0.0]


def test_the_operators_that_are_appended():
    one = fluid.initializer.Constant(1.0)
    w = layers.create_parameter([2], "float32", "w", default_initializer=one)
    updates, pairs = GradientAccumulation(SGD(0.5), 2).minimize(layers.reduce_sum(w))
    main, inner = fluid.default_main_program().blocks
    assert [op.type for op in main.ops] == [
        "reduce_sum",
        "fill_constant",
        "reduce_sum_grad",
        "sum",
        "increment",
        "fill_constant",
        "greater_equal",
        "conditional_block",
    ]
    assert [op.type for op in inner.ops] == ["scale", "sgd", "fill_constant", "fill_constant"]
    assert [op.type for op in updates] == ["sgd"]
    assert [(param.name, grad.block) for param, grad in pairs] == [("w", inner)]


def test_parameters_without_gradient_are_skipped():
    layers.create_parameter([3], "float32", "unused")
    w = layers.create_parameter([3], "float32", "w")
    updates, pairs = GradientAccumulation(SGD(0.1), 2).minimize(layers.reduce_sum(w))
    assert [op.input("Param") for op in updates] == [["w"]]
    assert pairs[0][1] is None


def test_a_failed_minimize_leaves_nothing():
    w = layers.create_parameter([3], "float32", "w")
    loss = layers.reduce_sum(w)
    rate = layers.create_global_var([1], 1, "int64", persistable=True)
    text = str(fluid.default_main_program()), str(fluid.default_startup_program())
    with pytest.raises(fluid.InvalidArgument, match="sgd: the learning rate must be floating"):
        GradientAccumulation(SGD(rate), 2).minimize(loss)
    with pytest.raises(fluid.InvalidArgument, match=r"^apply_gradients: a parameter must have a g"):
        GradientAccumulation(SGD(0.1), 2).apply_gradients([(w, None)])
    assert (str(fluid.default_main_program()), str(fluid.default_startup_program())) == text


@pytest.mark.parametrize(
    ("optimizer", "steps", "error", "message"),
    [
        (0.1, 2, TypeError, "optimizer must be an Optimizer, got float"),
        (fluid.amp.decorate(SGD(0.1)), 2, TypeError, "optimizer must be an Optimizer, got Mixed"),
        (SGD(0.1), 0, ValueError, "steps must be a whole number of at least 1, got 0"),
        (SGD(0.1), 2.0, TypeError, "steps must be a whole number of at least 1, got float 2.0"),
    ],
)
def test_arguments_are_checked(optimizer, steps, error, message):
    with pytest.raises(error, match=f"^gradient_accumulation: {message}"):
        GradientAccumulation(optimizer, steps)
