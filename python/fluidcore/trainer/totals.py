"""The metrics of an epoch, gathered batch by batch."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.trainer.measures import Measures
from fluidcore.trainer.metric_state import metric_state, restore_metric


class Totals:
    """Means weighted by samples, and metrics over batches; nothing at first.

    The metrics that the user gave are copied: a training and an evaluation in the midst of it do
    not disturb each other.
    """

    def __init__(self, measures: Measures) -> None:
        self._measures = measures
        self._sums = dict.fromkeys(measures.numbers, 0.0)
        self._metrics = {name: deepcopy(metric) for name, (metric, _) in measures.gathered.items()}
        for metric in self._metrics.values():
            metric.reset()
        self.samples = 0

    def add(self, values: list[Any], samples: int) -> dict[str, float]:
        """Adds a batch; returns its numbers by their names.

        Args:
            values: Of the fetches of the measures, in their order.
            samples: How many the batch has.
        """
        by_variable = dict(zip(self._measures.fetches, values, strict=True))
        numbers = {
            name: float(by_variable[variable].item())
            for name, variable in self._measures.numbers.items()
        }
        for name, (_, variables) in self._measures.gathered.items():
            try:
                self._metrics[name].update(*(by_variable[each] for each in variables))
            except Exception as error:
                error.add_note(f"in metric '{name}' of the Trainer, updated with {variables}")
                raise
        for name, number in numbers.items():
            self._sums[name] += number * samples
        self.samples += samples
        return numbers

    def results(self, prefix: str = "") -> dict[str, Any]:
        """The metrics of all batches by their names: floats, and lists where a metric has several.

        Raises:
            core.InvalidArgument: A metric over batches cannot be told from these.
        """
        found: dict[str, Any] = {}
        if self.samples:
            for name, total in self._sums.items():
                found[prefix + name] = total / self.samples
            for name, metric in self._metrics.items():
                try:
                    found[prefix + name] = _plain(metric.eval())
                except core.Error as error:
                    error.add_note(f"in metric '{name}' of the Trainer")
                    raise
        return found

    def state(self) -> dict[str, Any]:
        """What JSON can hold."""
        metrics = {name: metric_state(name, metric) for name, metric in self._metrics.items()}
        return {"samples": self.samples, "sums": dict(self._sums), "metrics": metrics}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from a state.

        Raises:
            core.InvalidArgument: It is of other metrics.
        """
        mine = [*self._sums, *self._metrics]
        saved = [*state["sums"], *state["metrics"]]
        if sorted(mine) != sorted(saved):
            raise core.InvalidArgument(
                f"Trainer.train: the metrics must be those of the checkpoint, {saved}, got {mine}"
            )
        self.samples = state["samples"]
        self._sums = {name: float(state["sums"][name]) for name in self._sums}
        for name, metric in self._metrics.items():
            restore_metric(metric, state["metrics"][name])


def _plain(value: Any) -> Any:
    """A result as Python's numbers, in lists where it has several."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value
