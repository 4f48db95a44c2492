"""Precision, recall and F1 of chunks."""

from __future__ import annotations

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.metrics.base import MetricBase
from fluidcore.metrics.binary import ratio
from fluidcore.metrics.columns import as_numbers


class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks, from how many there are.

    Args:
        name: What it is called in messages.

    Example:
        metric = fluid.metrics.ChunkEvaluator()
        for found, right in sequences:
            metric.update(*fluid.metrics.count_chunks(found, right, "IOB"))
        precision, recall, f1 = metric.eval()
    """

    def reset(self) -> None:
        """Forgets all batches."""
        self._infer = self._label = self._correct = 0
        self._updates = 0

    def update(
        self, num_infer_chunks: object, num_label_chunks: object, num_correct_chunks: object
    ) -> None:
        """Adds a batch or a sequence.

        Args:
            num_infer_chunks: How many chunks were found; a whole number, or an array of one.
            num_label_chunks: How many there are.
            num_correct_chunks: How many of those found are right.

        Raises:
            TypeError: An argument is no whole number.
            core.InvalidArgument: More are correct than there are.
        """
        infer = _whole(f"{self.name}: num_infer_chunks", num_infer_chunks)
        label = _whole(f"{self.name}: num_label_chunks", num_label_chunks)
        correct = _whole(f"{self.name}: num_correct_chunks", num_correct_chunks)
        if not 0 <= correct <= min(infer, label):
            raise core.InvalidArgument(
                f"{self.name}: num_correct_chunks must be at least 0 and at most the others, got "
                f"{infer} found, {label} in the labels, {correct} correct"
            )
        self._infer += infer
        self._label += label
        self._correct += correct
        self._updates += 1

    def eval(self) -> tuple[float, float, float]:
        """(precision, recall, F1); 0 where there is no chunk to divide by.

        Raises:
            core.InvalidArgument: Nothing was added.
        """
        self._check_updated(self._updates)
        precision = ratio(self._correct, self._infer)
        recall = ratio(self._correct, self._label)
        return precision, recall, ratio(2 * self._correct, self._infer + self._label)


def _whole(what: str, value: object) -> int:
    if hasattr(value, "__array__"):
        array = as_numbers(what, value)
        if array.size == 1:
            value = array.item()
    if not is_whole(value):
        raise TypeError(f"{what} must be a whole number, got {value!r}")
    return int(value)
