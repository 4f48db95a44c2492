"""Several metrics of the same predictions and labels."""

from __future__ import annotations

from typing import Any

from fluidcore import core
from fluidcore.metrics.base import MetricBase


class CompositeMetric(MetricBase):
    """Several metrics that take the same batches.

    Args:
        name: What it is called in messages.

    Example:
        metric = fluid.metrics.CompositeMetric()
        metric.add_metric(fluid.metrics.Precision())
        metric.add_metric(fluid.metrics.Recall())
        metric.update(preds, labels)
        precision, recall = metric.eval()
    """

    def __init__(self, name: str | None = None) -> None:
        self._metrics: list[MetricBase] = []
        super().__init__(name)

    def add_metric(self, metric: MetricBase) -> None:
        """Adds a metric, as it is; TypeError if it is none."""
        if not isinstance(metric, MetricBase):
            raise TypeError(f"{self.name}: metric must be a MetricBase, got {metric!r}")
        self._metrics.append(metric)

    def reset(self) -> None:
        """Makes all metrics forget all batches."""
        for metric in self._metrics:
            metric.reset()

    def update(self, preds: object, labels: object) -> None:
        """Gives a batch to each metric.

        Args:
            preds: As all metrics take it.
            labels: Likewise.

        Raises:
            core.InvalidArgument: There is no metric; or as each metric does.
        """
        self._check_metrics()
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self) -> list[Any]:
        """What each metric is, in the order in which they were added.

        Raises:
            core.InvalidArgument: There is no metric; or as each metric does.
        """
        self._check_metrics()
        return [metric.eval() for metric in self._metrics]

    def _check_metrics(self) -> None:
        if not self._metrics:
            raise core.InvalidArgument(
                f"{self.name}: there must be a metric, got none; call add_metric first"
            )
