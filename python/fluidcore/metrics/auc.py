"""The area under a curve of two classes, from histograms of the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.base.checks import check_name, check_whole
from fluidcore.metrics.base import MetricBase
from fluidcore.metrics.columns import as_classes, as_numbers, as_probabilities, check_as_many

CURVES = ("ROC", "PR")


class Auc(MetricBase):
    """The area under the ROC curve, or under the curve of precision over recall.

    The scores are counted in num_thresholds + 1 bins, floor(score * num_thresholds), as Fluid does
    (`paddle.fluid.metrics.Auc` of 1.x), so that memory does not grow with the examples. The curves
    have a point for each bin: the examples of this bin and all above are taken for ones. Then

    * ROC: the trapezoid rule over (false positive rate, true positive rate) (Fawcett 2006,
      algorithm 2), which is the share of pairs of a one and a zero in which the one is in the
      higher bin; a pair in one bin counts half. It differs from the area of unbinned scores by at
      most half the share of pairs in one bin.
    * PR: the sum of precision times gain in recall, the average precision; a straight line between
      two points would promise too much (Davis and Goadrich 2006).

    Args:
        name: What it is called in messages.
        curve: "ROC" or "PR".
        num_thresholds: How finely scores are told apart; at least 1.
    """

    def __init__(
        self, name: str | None = None, curve: str = "ROC", num_thresholds: int = 4095
    ) -> None:
        if check_name("Auc: curve", curve) not in CURVES:
            raise ValueError(f"Auc: curve must be 'ROC' or 'PR', got '{curve}'")
        self.curve = curve
        self.num_thresholds = check_whole("Auc: num_thresholds", num_thresholds, 1)
        super().__init__(name)

    def reset(self) -> None:
        """Forgets all batches."""
        self._ones = np.zeros(self.num_thresholds + 1, np.int64)
        self._zeros = np.zeros(self.num_thresholds + 1, np.int64)

    def update(self, preds: object, labels: object) -> None:
        """Adds a batch.

        Args:
            preds: Probabilities of class 1, [n] or [n, 1]; or of both classes, [n, 2], of which the
                second is taken.
            labels: [n] or [n, 1], 0 or 1.

        Raises:
            TypeError: An argument is no array of numbers.
            core.InvalidArgument: A shape or a number cannot be.
        """
        scores = as_probabilities(f"{self.name}: preds", self._of_class_1(preds))
        is_one = as_classes(f"{self.name}: labels", labels, 2) == 1
        check_as_many(self.name, scores, is_one)
        bins = (scores.astype(np.float64) * self.num_thresholds).astype(np.int64)
        size = self.num_thresholds + 1
        self._ones += np.bincount(bins[is_one], minlength=size)
        self._zeros += np.bincount(bins[~is_one], minlength=size)

    def _of_class_1(self, preds: object) -> NDArray[Any]:
        array = as_numbers(f"{self.name}: preds", preds)
        return array[:, 1] if array.ndim == 2 and array.shape[1] == 2 else array

    def eval(self) -> float:
        """The area, in [0, 1].

        Raises:
            core.InvalidArgument: No example was added; or there are only ones or only zeros.
        """
        self._check_updated(float(self._ones.sum() + self._zeros.sum()))
        true_positives = np.cumsum(self._ones[::-1])
        false_positives = np.cumsum(self._zeros[::-1])
        ones, zeros = int(true_positives[-1]), int(false_positives[-1])
        if not ones or not zeros:
            raise core.InvalidArgument(
                f"{self.name}: labels must be of both classes, got {ones} of class 1, {zeros} of "
                "class 0"
            )
        if self.curve == "ROC":
            heights = true_positives - self._ones[::-1] / 2
            return float(np.sum(heights * self._zeros[::-1]) / ones / zeros)
        predicted = np.maximum(true_positives + false_positives, 1)
        return float(np.sum(true_positives / predicted * self._ones[::-1]) / ones)
