"""How often each class is taken for each other one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fluidcore.base.checks import check_whole
from fluidcore.metrics.base import MetricBase
from fluidcore.metrics.columns import as_classes, check_as_many


class ConfusionMatrix(MetricBase):
    """Counts of examples by label and predicted class.

    Args:
        num_classes: How many classes there are.
        name: What it is called in messages.

    Example:
        metric = fluid.metrics.ConfusionMatrix(10)
        metric.update(probabilities.argmax(axis=1), labels)
        metric.eval().diagonal() / metric.eval().sum(axis=1)  # the recall of each class
    """

    def __init__(self, num_classes: int, name: str | None = None) -> None:
        self.num_classes = check_whole("ConfusionMatrix: num_classes", num_classes, 1)
        super().__init__(name)

    def reset(self) -> None:
        """Forgets all batches."""
        self._counts = np.zeros((self.num_classes, self.num_classes), np.int64)

    def update(self, preds: object, labels: object) -> None:
        """Adds a batch.

        Args:
            preds: [n] or [n, 1], the predicted classes, whole numbers in [0, num_classes).
            labels: [n] or [n, 1], the true ones.

        Raises:
            TypeError: An argument is no array of numbers.
            core.InvalidArgument: A shape or a number cannot be.
        """
        predicted = as_classes(f"{self.name}: preds", preds, self.num_classes)
        label = as_classes(f"{self.name}: labels", labels, self.num_classes)
        check_as_many(self.name, predicted, label)
        np.add.at(self._counts, (label, predicted), 1)

    def eval(self) -> NDArray[np.int64]:
        """The counts, int64 [num_classes, num_classes]: row the label, column the prediction.

        Raises:
            core.InvalidArgument: No example was added.
        """
        self._check_updated(float(self._counts.sum()))
        return self._counts.copy()
