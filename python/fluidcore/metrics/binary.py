"""Metrics of two classes, from how many predictions are right and wrong."""

from __future__ import annotations

import numpy as np

from fluidcore.metrics.base import MetricBase
from fluidcore.metrics.columns import as_classes, as_probabilities, check_as_many


class _Binary(MetricBase):
    """Counts true and false positives, and false negatives."""

    def reset(self) -> None:
        """Forgets all batches."""
        self._true_positives = self._false_positives = self._false_negatives = 0
        self._count = 0

    def update(self, preds: object, labels: object) -> None:
        """Adds a batch.

        Args:
            preds: [n] or [n, 1], probabilities of class 1; above 0.5 counts as 1.
            labels: [n] or [n, 1], 0 or 1.

        Raises:
            TypeError: An argument is no array of numbers.
            core.InvalidArgument: A shape or a number cannot be.
        """
        positive = as_probabilities(f"{self.name}: preds", preds) > 0.5
        label = as_classes(f"{self.name}: labels", labels, 2) == 1
        check_as_many(self.name, positive, label)
        self._true_positives += int(np.sum(positive & label))
        self._false_positives += int(np.sum(positive & ~label))
        self._false_negatives += int(np.sum(~positive & label))
        self._count += len(label)

    def eval(self) -> float:
        """The number, in [0, 1].

        Raises:
            core.InvalidArgument: No example was added.
        """
        self._check_updated(self._count)
        return self._value()

    def _value(self) -> float:
        raise NotImplementedError


class Precision(_Binary):
    """The share of predicted ones that are ones: TP / (TP + FP), 0 if no one was predicted.

    Args:
        name: What it is called in messages.
    """

    def _value(self) -> float:
        return ratio(self._true_positives, self._true_positives + self._false_positives)


class Recall(_Binary):
    """The share of ones that are predicted: TP / (TP + FN), 0 if there is no one.

    Args:
        name: What it is called in messages.
    """

    def _value(self) -> float:
        return ratio(self._true_positives, self._true_positives + self._false_negatives)


class F1(_Binary):
    """The harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN).

    0 if there is no one, predicted or not.

    Args:
        name: What it is called in messages.
    """

    def _value(self) -> float:
        wrong = self._false_positives + self._false_negatives
        return ratio(2 * self._true_positives, 2 * self._true_positives + wrong)


def ratio(part: float, whole: float) -> float:
    """Part / whole; 0 where there is nothing."""
    return part / whole if whole else 0.0
