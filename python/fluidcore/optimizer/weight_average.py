"""Plain averages of parameters over runs."""

from __future__ import annotations

import numpy as np

from fluidcore import layers
from fluidcore.executor import Executor
from fluidcore.io.persistables import set_values, values
from fluidcore.optimizer.parameter_average import ParameterAverage
from fluidcore.program import Variable


class WeightAverage(ParameterAverage):
    """The mean of the parameters after each run since the last `reset`.

    As in averaged SGD (Polyak and Juditsky 1992); with `reset` late in a training, stochastic
    weight averaging (Izmailov et al. 2018). Average += (parameter - average) / updates.

    Args:
        name: Starts the names of the variables; None for the parameter's.

    Raises:
        TypeError: The name is no str.

    Example:
        optimizer.minimize(loss)
        average = fluid.optimizer.WeightAverage()
        average.update()
        ...
        average.reset()  # after most of the training
        ...
        with average.apply(exe):
            exe.run(test, feed=feed, fetch_list=[accuracy])
    """

    type = "weight_average"

    def reset(self, executor: Executor | None = None) -> None:
        """Starts the mean anew with the next run, in the global scope.

        Args:
            executor: Accepted for Fluid's sake.

        Raises:
            core.InvalidArgument: `update` was not called.
            core.NotFound: A variable has no value in the global scope.
        """
        del executor
        states = values(self._states(), self.type)
        set_values({name: np.zeros_like(array) for name, array in states.items()})

    def _append_update(self, average: Variable, value: Variable, updates: Variable) -> None:
        step = (value - average) / updates.astype(average.dtype)
        layers.sums([average, step], out=average)
