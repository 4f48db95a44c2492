"""Averages of parameters over the last runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fluidcore import layers
from fluidcore.base.checks import check_not_negative, check_whole
from fluidcore.io.array_file import Arrays
from fluidcore.optimizer.parameter_average import ParameterAverage
from fluidcore.program import Variable


class ModelAverage(ParameterAverage):
    """The mean of the parameters after each of the last runs, as Fluid had it.

    A window of runs grows until it has min_average_window of them, and as many as the smaller of
    max_average_window and average_window_rate times the runs so far. Then the next one begins. What
    `apply` puts in the place of a parameter is the mean over the last window that is over and the
    one that grows. There is no `update` to be called: the operators are appended to the default
    main program when the object is made, so make it after `minimize`.

    Args:
        average_window_rate: The share of all runs that are averaged; at least 0.
        min_average_window: The runs of a window, at least.
        max_average_window: The runs of a window, at most, unless the least is more.
        name: Starts the names of the variables; None for the parameter's.

    Raises:
        TypeError: An argument is of another type.
        ValueError: A number is out of range.
        core.InvalidArgument: The program has no trainable parameter.

    Example:
        optimizer.minimize(loss)
        average = fluid.optimizer.ModelAverage(0.15, min_average_window=100)
        ...
        with average.apply(exe):
            exe.run(test, feed=feed, fetch_list=[accuracy])
    """

    type = "model_average"

    def __init__(
        self,
        average_window_rate: float,
        min_average_window: int = 10000,
        max_average_window: int = 10000,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.average_window_rate = check_not_negative(
            f"{self.type}: average_window_rate", average_window_rate
        )
        self.min_average_window = check_whole(
            f"{self.type}: min_average_window", min_average_window, 1
        )
        self.max_average_window = check_whole(
            f"{self.type}: max_average_window", max_average_window, 1
        )
        self._runs: list[Variable] = []  # of the window that grows, and of the last one
        self._last: dict[str, Variable] = {}  # the mean of the last window by that of this one
        self.update()

    def _begin_update(self, updates: Variable) -> None:
        self._runs = [self._state("window_runs", [1], "int64") for _ in range(2)]
        layers.increment(self._runs[0])

    def _append_update(self, average: Variable, value: Variable, updates: Variable) -> None:
        del updates
        step = (value - average) / self._runs[0].astype(average.dtype)
        layers.sums([average, step], out=average)
        last = self._state(f"{average.name}_last", average.shape, average.dtype)
        self._last[average.name] = last

    def _end_update(self, updates: Variable) -> None:
        runs, last_runs = self._runs
        wanted = updates.astype("float64") * self.average_window_rate
        least = wanted.clip(max=float(self.max_average_window))
        least = least.clip(min=float(self.min_average_window))
        over = layers.ConditionalBlock([runs.astype("float64") >= least], True)
        block = updates.block
        with over.block():
            layers.assign(runs, last_runs)
            layers.fill_constant([1], "int64", 0, out=runs)
            for name, last in self._last.items():
                average = block.var(name)
                layers.assign(average, last)
                layers.fill_constant(average.shape, average.dtype, 0, out=average)

    def _states(self) -> list[Variable]:
        return [*super()._states(), *self._runs, *self._last.values()]

    def _result(self, held: Arrays, average: Variable, updates: int) -> NDArray[np.float64]:
        growing = super()._result(held, average, updates)
        last = held[self._last[average.name].name].astype(np.float64)
        runs, last_runs = (int(held[count.name].item()) for count in self._runs)
        return (runs * growing + last_runs * last) / (runs + last_runs)
