"""The mean of accuracies of batches."""

from __future__ import annotations

from fluidcore.base.checks import check_not_negative, check_number
from fluidcore.metrics.base import MetricBase
from fluidcore.metrics.columns import as_numbers


class Accuracy(MetricBase):
    """The weighted mean of values such as those of `layers.accuracy`.

    Args:
        name: What it is called in messages.

    Example:
        metric = fluid.metrics.Accuracy()
        metric.update(value=0.5, weight=10)
        metric.update(value=1.0, weight=30)
        metric.eval()  # 0.875
    """

    def reset(self) -> None:
        """Forgets all batches."""
        self._value = 0.0
        self._weight = 0.0

    def update(self, value: object, weight: object) -> None:
        """Adds a batch.

        Args:
            value: Its accuracy; a number or an array of one number.
            weight: What it counts, usually how many examples it has; at least 0.

        Raises:
            TypeError: An argument is no number.
            ValueError: It is not finite, or the weight is negative.
        """
        number = check_number(f"{self.name}: value", _single(f"{self.name}: value", value))
        counts = check_not_negative(f"{self.name}: weight", _single(f"{self.name}: weight", weight))
        self._value += number * counts
        self._weight += counts

    def eval(self) -> float:
        """The mean.

        Raises:
            core.InvalidArgument: No batch was added.
        """
        self._check_updated(self._weight)
        return self._value / self._weight


def _single(what: str, value: object) -> object:
    """The number of an array of one; what is no array as it is."""
    if not hasattr(value, "__array__"):
        return value
    array = as_numbers(what, value)
    if array.size != 1:
        raise TypeError(f"{what} must be one number, got an array {list(array.shape)}")
    return array.item()
