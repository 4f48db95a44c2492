"""The rates that a schedule gives in run after run, and a step that trains with it."""

from collections.abc import Callable

import numpy as np

import fluidcore as fluid
from fluidcore import layers

RUNS = 50


def rates(make: Callable[[], fluid.Variable], runs: int = RUNS) -> np.ndarray:
    """What the schedule gives in the first runs, float64 [runs]."""
    rate = make()
    assert (rate.shape, rate.dtype) == ((1,), "float32")
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    return further_rates(exe, rate, runs)


def further_rates(exe: fluid.Executor, rate: fluid.Variable, runs: int) -> np.ndarray:
    """What a schedule gives in the next runs, float64 [runs]."""
    return np.array([exe.run(fetch_list=[rate])[0].item() for _ in range(runs)])


def minimize_a_weight(rate: float | fluid.Variable) -> fluid.Variable:
    """SGD on the sum of the weight w, 3 ones: each run subtracts the rate from each."""
    one = fluid.initializer.Constant(1.0)
    w = layers.create_parameter([3], "float32", "w", default_initializer=one)
    loss = layers.reduce_sum(w)
    fluid.optimizer.SGD(rate).minimize(loss)
    return loss
