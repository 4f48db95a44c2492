"""Exponential moving averages of parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fluidcore import layers
from fluidcore.base.checks import check_share
from fluidcore.io.array_file import Arrays
from fluidcore.optimizer.parameter_average import ParameterAverage
from fluidcore.program import Variable


class ExponentialMovingAverage(ParameterAverage):
    """Averages of the parameters in which a run counts less the longer it is ago.

    Average = decay * average + (1 - decay) * parameter, from 0; what `apply` puts in the place of a
    parameter is average / (1 - decay ** updates), as Adam corrects its means (Kingma and Ba 2015,
    section 3), so that the weights of all runs add up to 1.

    Args:
        decay: Share of the average that is kept; in [0, 1).
        name: Starts the names of the variables; None for the parameter's.

    Raises:
        TypeError: An argument is of another type.
        ValueError: decay is out of range.

    Example:
        optimizer.minimize(loss)
        ema = fluid.optimizer.ExponentialMovingAverage(0.999)
        ema.update()
        ...
        with ema.apply(exe):
            exe.run(test, feed=feed, fetch_list=[accuracy])
    """

    type = "exponential_moving_average"

    def __init__(self, decay: float = 0.999, name: str | None = None) -> None:
        super().__init__(name)
        self.decay = check_share(f"{self.type}: decay", decay)

    def _append_update(self, average: Variable, value: Variable, updates: Variable) -> None:
        del updates
        kept = layers.scale(average, scale=self.decay)
        layers.sums([kept, layers.scale(value, scale=1.0 - self.decay)], out=average)

    def _result(self, held: Arrays, average: Variable, updates: int) -> NDArray[np.float64]:
        return super()._result(held, average, updates) / (1.0 - self.decay**updates)
