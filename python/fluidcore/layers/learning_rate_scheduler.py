"""Learning-rate schedules under the name of Fluid's module, with the number of the run."""

from __future__ import annotations

from fluidcore.layers.decay import (
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_decay,
    polynomial_decay,
)
from fluidcore.layers.step_counters import autoincreased_step_counter
from fluidcore.layers.warmup import cosine_decay, linear_lr_warmup, noam_decay

__all__ = [
    "autoincreased_step_counter",
    "cosine_decay",
    "exponential_decay",
    "inverse_time_decay",
    "linear_lr_warmup",
    "natural_exp_decay",
    "noam_decay",
    "piecewise_decay",
    "polynomial_decay",
]
