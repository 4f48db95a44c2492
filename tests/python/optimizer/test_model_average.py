import numpy as np
import pytest
from trained_network import build, held, run

import fluidcore as fluid
from fluidcore import layers
from fluidcore.optimizer import Adam, ModelAverage


def windowed_means(weights, rate, least, most):
    """The mean that Fluid's operator average_accumulates leads to after each run, by its rule."""
    growing, last, means = [], [], []
    for step, value in enumerate(weights, start=1):
        growing.append(value)
        if len(growing) >= least and len(growing) >= min(most, step * rate):
            growing, last = [], growing
        means.append(np.mean([*last, *growing], axis=0))
    return means


@pytest.mark.parametrize(
    ("rate", "least", "most"),
    [(0.5, 2, 4), (0.0, 1, 1), (1.0, 3, 5), (0.15, 10000, 10000), (0.3, 4, 2)],
)
def test_it_is_the_mean_over_the_last_window_and_the_one_that_grows(rate, least, most):
    build(Adam(0.05))
    average = ModelAverage(rate, min_average_window=least, max_average_window=most)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = []
    for step in range(17):
        run(exe, 4, step, 1)
        seen.append(held())
        expected = {
            name: windowed_means([weights[name] for weights in seen], rate, least, most)[-1]
            for name in seen[0]
        }
        with average.apply(exe):
            for name, value in held().items():
                np.testing.assert_allclose(value, expected[name], rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(held()["w1"], seen[-1]["w1"])


def test_parameters_come_back_when_restored():
    build(Adam(0.05))
    average = ModelAverage(0.5, 2, 4)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    run(exe, 4, 0, 3)
    before = held()
    with average.apply(exe, need_restore=False):
        pass
    assert not np.array_equal(held()["w1"], before["w1"])
    average.restore(exe)
    np.testing.assert_array_equal(held()["w1"], before["w1"])


def test_a_loaded_training_goes_on_with_its_windows(tmp_path):
    build(Adam(0.05))
    average = ModelAverage(0.5, 2, 4)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    run(exe, 4, 0, 5)
    fluid.io.save_persistables(exe, tmp_path)
    run(exe, 4, 5, 4)
    with average.apply(exe):
        expected = held()
    with fluid.scope_guard(fluid.Scope()):
        fluid.io.load_persistables(exe, tmp_path)
        run(exe, 4, 5, 4)
        with average.apply(exe):
            for name, value in held().items():
                np.testing.assert_array_equal(value, expected[name])


def test_parameters_of_16_bits_are_averaged_in_float32():
    one = fluid.initializer.Constant(1.0)
    layers.create_parameter([2], "bfloat16", "w", default_initializer=one)
    average = ModelAverage(0.5, 2, 4)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for _ in range(3):
        exe.run()
    with average.apply(exe):
        value = held(["w"])["w"]
    assert value.dtype.name == "bfloat16"
    assert value.astype(np.float32).tolist() == [1, 1]


def test_wrong_settings_are_errors_and_a_program_needs_parameters():
    with pytest.raises(fluid.InvalidArgument, match="must have a trainable parameter, got none"):
        ModelAverage(0.15)
    layers.create_parameter([2], "float32", "w")
    with pytest.raises(ValueError, match="average_window_rate must be at least 0, got -1"):
        ModelAverage(-1)
    with pytest.raises(ValueError, match=r"min_average_window must be .*, got 0"):
        ModelAverage(0.15, 0)
    assert fluid.default_main_program().global_block().ops == ()
    average = ModelAverage(0.15)
    assert repr(average) == (
        "ModelAverage(average_window_rate=0.15, min_average_window=10000, max_average_window=10000)"
    )
    with pytest.raises(fluid.InvalidArgument, match="update must be called once"):
        average.update()
