"""Learning-rate schedules: functions that return a rate which changes from run to run.

    rate = fluid.learning_rate_decay.exponential_decay(0.1, decay_steps=1000, decay_rate=0.9)
    fluid.optimizer.SGD(rate).minimize(loss)

A schedule is operators of the program that calculate the rate from the number of the run, which
the program counts (`step_counter`).
"""

from fluidcore.layers import (
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    linear_lr_warmup,
    natural_exp_decay,
    noam_decay,
    piecewise_decay,
    polynomial_decay,
)
from fluidcore.layers.schedule import step_counter
from fluidcore.layers.warmup import one_cycle

__all__ = [
    "cosine_decay",
    "exponential_decay",
    "inverse_time_decay",
    "linear_lr_warmup",
    "natural_exp_decay",
    "noam_decay",
    "one_cycle",
    "piecewise_decay",
    "polynomial_decay",
    "step_counter",
]
