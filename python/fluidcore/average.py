"""The weighted mean of values, in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_not_negative


class WeightedAverage:
    """The sum of weight times value over the sum of the weights.

    Example:
        average = fluid.average.WeightedAverage()
        average.add(value=2.0, weight=1)
        average.add(value=4.0, weight=2)
        average.eval()  # 3.33
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets all values."""
        self.numerator: Any = 0.0
        self.denominator = 0.0

    def add(self, value: Any, weight: Any) -> None:
        """Adds a value.

        Args:
            value: A number or an array of numbers, always of one shape.
            weight: A number that is at least 0, or an array of one.

        Raises:
            TypeError: An argument is no number.
            ValueError: The weight is negative.
        """
        number = np.asarray(value, np.float64)
        weights = np.asarray(weight, np.float64)
        if weights.size != 1:
            raise core.InvalidArgument(
                f"WeightedAverage.add: weight must be one number, got shape {list(weights.shape)}"
            )
        counts = check_not_negative("WeightedAverage.add: weight", weights.item())
        self.numerator = self.numerator + number * counts
        self.denominator += counts

    def eval(self) -> Any:
        """The mean: a number, or an array of the shape of the values.

        Raises:
            core.InvalidArgument: No value with a weight above 0 was added.
        """
        if not self.denominator:
            raise core.InvalidArgument(
                "WeightedAverage.eval: must come after an add with a weight above 0, got none "
                "since the last reset"
            )
        mean = self.numerator / self.denominator
        return mean if np.ndim(mean) else float(mean)
