import numpy as np
import pytest
from trained_network import build, held, run

import fluidcore as fluid
from fluidcore import layers
from fluidcore.optimizer import Adam, WeightAverage


def test_it_is_the_mean_of_the_weights_after_each_run_since_the_reset():
    build(Adam(0.05))
    average = WeightAverage()
    average.update()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    seen = []
    for step in range(8):
        if step == 3:
            average.reset(exe)
            seen = []
        run(exe, 4, step, 1)
        seen.append(held())
        with average.apply(exe):
            for name, value in held().items():
                expected = np.mean([weights[name] for weights in seen], axis=0)
                np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-15)


def test_after_a_reset_there_is_no_average_until_the_next_run():
    layers.create_parameter([2], "float32", "w")
    average = WeightAverage()
    with pytest.raises(fluid.InvalidArgument, match="update must be called before the averages"):
        average.reset()
    average.update()
    with pytest.raises(fluid.NotFound, match="'updates_0' must have a value in the global scope"):
        average.reset()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    tensor = fluid.global_scope().find_var("w").get_tensor()
    weights = np.array(tensor)
    tensor.set(np.full(2, np.nan, np.float32))
    exe.run()
    average.reset(exe)  # forgets NaN, too
    with pytest.raises(fluid.InvalidArgument, match="a run must have updated the averages"):
        average.apply(exe).__enter__()
    tensor.set(weights)
    exe.run()
    with average.apply(exe):
        np.testing.assert_array_equal(held(["w"])["w"], weights)
