"""Optimizers, clips and decay of tables whose gradient is selected rows."""

import numpy as np
import pytest
from table_model import (
    BATCHES,
    COTANGENTS,
    HEIGHT,
    NEVER_READ,
    OPTIMIZERS,
    TABLE,
    WIDTH,
    Model,
    assert_same,
    dense_gradient,
)

import fluidcore as fluid
from fluidcore import clip, core, layers, optimizer, unique_name
from fluidcore.regularizer import L1Decay, L2Decay, WeightDecayRegularizer


# Where no gradient is no change.
@pytest.mark.parametrize("name", ["sgd", "adagrad"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"padding_idx": 3},
        {"gradient_clip": clip.GradientClipByValue(0.1)},
        {"gradient_clip": clip.GradientClipByNorm(0.5)},
        {"gradient_clip": clip.GradientClipByGlobalNorm(0.5)},
        {"error_clip": clip.ErrorClipByValue(0.05)},
    ],
)
def test_training_is_that_of_a_dense_gradient_bit_for_bit(name, settings):
    one = Model(OPTIMIZERS[name], sparse=True, **settings).train()
    assert_same(one, Model(OPTIMIZERS[name], sparse=False, **settings).train())


def test_two_lookups_of_one_table_add_up():
    one = Model(OPTIMIZERS["sgd"], sparse=True, lookups=2)
    [gradient] = one.step(BATCHES[0], ["table@GRAD"])
    np.testing.assert_array_equal(gradient.rows, BATCHES[0] * 2)
    other = Model(OPTIMIZERS["sgd"], sparse=False, lookups=2)
    other.step(BATCHES[0])
    np.testing.assert_allclose(one.state()["table"], other.state()["table"], rtol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_that_are_not_read_stay_as_they_are_and_so_does_their_state(name):
    model = Model(OPTIMIZERS[name])
    before = model.state()
    after = model.train()
    for key, value in after.items():
        np.testing.assert_array_equal(value[NEVER_READ], before[key][NEVER_READ], err_msg=key)
        assert (value[3] != before[key][3]).all(), key


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_does_to_the_rows_what_it_does_to_a_dense_table(name):
    sparse, dense = (Model(OPTIMIZERS[name], sparse=flag) for flag in (True, False))
    for model in (sparse, dense):
        model.step([3, 7, 3, 0])
        model.step([0, 7, 3, 7])
    for key, value in sparse.state().items():
        np.testing.assert_array_equal(value[[0, 3, 7]], dense.state()[key][[0, 3, 7]], key)


def test_adam_moves_the_rows_that_were_read_and_only_their_moments():
    w = TABLE.astype(np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    for step, ids in enumerate(BATCHES, 1):
        rows = np.unique(ids)
        g = dense_gradient(ids).astype(np.float64)[rows]
        m[rows] = 0.9 * m[rows] + 0.1 * g
        v[rows] = 0.999 * v[rows] + 0.001 * g * g
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        w[rows] -= rate * m[rows] / (np.sqrt(v[rows]) + 1e-8)
    got = Model(OPTIMIZERS["adam"], dtype="float64").train()
    for name, expected in (("table", w), ("table_moment1_0", m), ("table_moment2_0", v)):
        np.testing.assert_allclose(got[name], expected, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("decay", "derivative"),
    [(L2Decay(0.5), lambda w: 0.5 * w), (L1Decay(0.5), lambda w: np.sign(w) / 2)],
)
@pytest.mark.parametrize("of_parameter", [True, False])
def test_weights_of_the_rows_that_were_read_decay_once_each(decay, derivative, of_parameter):
    if of_parameter:
        model = Model(OPTIMIZERS["sgd"], regularizer=decay)
    else:
        model = Model(lambda: optimizer.SGD(0.1, regularization=decay))
    rows, ids = [0, 3, 7], [3, 7, 3, 0]
    model.step(ids)
    expected = TABLE.copy()
    expected[rows] -= 0.1 * (dense_gradient(ids)[rows] + derivative(TABLE[rows]))
    np.testing.assert_allclose(model.state()["table"], expected, rtol=1e-5)


def test_a_regularizer_of_ones_own_sees_the_rows():
    seen = []

    class Cubes(WeightDecayRegularizer):
        def __call__(self, param, grad, block):
            seen.append((param.shape, grad.shape))
            return param * param

    model = Model(OPTIMIZERS["sgd"], regularizer=Cubes())
    model.step([3, 3, 3, 3])
    assert seen == [((-1, WIDTH), (-1, WIDTH))]
    expected = TABLE.copy()
    expected[3] -= 0.1 * (COTANGENTS.sum(0) + TABLE[3] ** 2)
    np.testing.assert_allclose(model.state()["table"], expected, rtol=1e-5)


def test_one_norm_clips_rows_and_tensors_together():
    def trained(sparse):
        unique_name.switch()
        main, startup = fluid.Program(), fluid.Program()
        main.random_seed = startup.random_seed = 3
        with fluid.program_guard(main, startup):
            ids = layers.data("ids", [4], dtype="int64", append_batch_size=False)
            x = layers.embedding(ids, [HEIGHT, WIDTH], sparse, param_attr=fluid.ParamAttr("table"))
            y = layers.fc(x, 2, param_attr=fluid.ParamAttr("w"))
            clip.set_gradient_clip(clip.GradientClipByGlobalNorm(0.1))
            optimizer.SGD(0.5).minimize(layers.mean(layers.square(y)))
        scope, exe = core.Scope(), fluid.Executor()
        exe.run(startup, scope=scope)
        for batch in BATCHES:
            exe.run(main, {"ids": np.array(batch)}, scope=scope)
        return [np.array(scope.find_var(name).get_tensor()) for name in ("table", "w")]

    for one, other in zip(trained(True), trained(False), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_no_row_at_all_changes_nothing():
    model = Model(OPTIMIZERS["momentum"], gradient_clip=clip.GradientClipByNorm(1.0))
    before = model.state()
    model.step([], weights=COTANGENTS[:0])
    assert_same(model.state(), before)
