import numpy as np
import pytest
from trained_network import build, held, run

import fluidcore as fluid
from fluidcore import layers
from fluidcore.optimizer import SGD, Adam, ExponentialMovingAverage


def averaged(values, decay):
    """The weighted mean: (1 - decay) decay ** age, made to add up to 1."""
    weights = decay ** np.arange(len(values) - 1, -1, -1.0)
    return np.average(values, axis=0, weights=weights)


def test_it_is_the_weighted_mean_of_the_weights_after_each_run():
    build(Adam(0.05))
    ema = ExponentialMovingAverage(0.7)
    ema.update()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = []
    for step in range(5):
        run(exe, 4, step, 1)
        seen.append(held())
        with ema.apply(exe):
            for name, value in held().items():
                expected = averaged([weights[name] for weights in seen], 0.7)
                np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-15)
        for name, value in held().items():
            np.testing.assert_array_equal(value, seen[-1][name])


def test_a_test_program_runs_with_the_averages():
    x = layers.data("x", [1])
    w = fluid.ParamAttr("w", fluid.initializer.Constant(1.0))
    y = layers.fc(x, 1, param_attr=w, bias_attr=False)
    test = fluid.default_main_program().clone(for_test=True)
    SGD(1.0).minimize(layers.mean(y))
    ema = ExponentialMovingAverage(0.5)
    ema.update()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": np.ones((1, 1), np.float32)}
    for _ in range(2):
        exe.run(feed=feed)  # w is 0, then -1
    assert exe.run(test, feed, [y])[0].item() == -1.0
    with ema.apply(exe):
        assert exe.run(test, feed, [y])[0].item() == pytest.approx(-2 / 3)
    assert exe.run(test, feed, [y])[0].item() == -1.0


def test_a_saved_training_has_its_averages(tmp_path):
    build(SGD(0.2))
    ema = ExponentialMovingAverage(0.9)
    ema.update()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    run(exe, 4, 0, 3)
    fluid.io.save_persistables(exe, tmp_path)
    run(exe, 4, 3, 3)
    with ema.apply(exe):
        whole = held()
    with fluid.scope_guard(fluid.Scope()):
        exe.run(fluid.default_startup_program())
        fluid.io.load_persistables(exe, tmp_path)
        run(exe, 4, 3, 3)
        with ema.apply(exe):
            for name, value in held().items():
                np.testing.assert_array_equal(value, whole[name])


@pytest.mark.parametrize("decay", [1.0, -0.1, 2])
def test_a_decay_is_a_share(decay):
    message = rf"^exponential_moving_average: decay must be in \[0, 1\), got {decay}$"
    with pytest.raises(ValueError, match=message):
        ExponentialMovingAverage(decay)


def test_the_operators_that_are_appended():
    w = layers.create_parameter([2], "float32", "w")
    SGD(0.1).minimize(layers.reduce_sum(w))
    before = len(w.block.ops)
    ExponentialMovingAverage(0.9, name="slow").update()
    assert [op.type for op in w.block.ops[before:]] == ["increment", "scale", "scale", "sum"]
    added = [name for name, var in w.block.vars.items() if var.persistable and "slow" in name]
    assert added == ["slow_updates_0", "slow_w_exponential_moving_average_0"]
