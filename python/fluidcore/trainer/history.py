"""History: what a training gave, epoch by epoch."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Literal, NamedTuple

from fluidcore import core
from fluidcore.base.checks import did_you_mean

Mode = Literal["min", "max"]
Stopped = Literal["stop", "early_stopping", "interrupt"]


class EpochRecord(NamedTuple):
    """What an epoch gave.

    Attributes:
        epoch: Its number, from 0.
        steps: How many batches it had.
        samples: How many samples its metrics are of.
        metrics: "loss", the names of `metrics`, and those of the evaluation as "val_loss" -> value.
    """

    epoch: int
    steps: int
    samples: int
    metrics: dict[str, Any]


class History:
    """The epochs of a training, as data.

    history["val_loss"]   # a number for each epoch
    history.best()        # the EpochRecord with the lowest "val_loss", or "loss"
    history.epochs        # all EpochRecords

    Args:
        monitor: The metric that tells which epoch is best.
        mode: "min" where lower is better, else "max".

    Attributes:
        epochs: Those that were gone through to their end.
        steps: How many steps were done, those of an unfinished epoch too.
        stopped: Why the training ended before its last epoch: "stop" (`trainer.stop()`),
            "early_stopping" or "interrupt" (Ctrl-C); None if it did not.
    """

    def __init__(self, monitor: str = "loss", mode: Mode = "min") -> None:
        self.monitor = monitor
        self.mode = mode
        self.epochs: list[EpochRecord] = []
        self.steps = 0
        self.stopped: Stopped | None = None

    def __len__(self) -> int:
        return len(self.epochs)

    def __getitem__(self, name: str) -> list[Any]:
        """The values of a metric, one for each epoch that has it.

        Raises:
            core.NotFound: No epoch has it.
        """
        known = list(dict.fromkeys(key for each in self.epochs for key in each.metrics))
        if name not in known:
            raise core.NotFound(
                f"History: no metric '{name}' in {len(self)} epochs; they have: "
                f"{', '.join(known) or 'none'}{did_you_mean(str(name), known)}"
            )
        return [each.metrics[name] for each in self.epochs if name in each.metrics]

    def best(self, metric: str | None = None, mode: Mode | None = None) -> EpochRecord:
        """The best epoch, the first one of equals.

        Args:
            metric: None for the one that the training monitored.
            mode: "min" or "max"; None for "min", or that of the training for its own metric.

        Raises:
            core.NotFound: No epoch has a number for it that is not NaN.
            core.InvalidArgument: The mode is none.
        """
        if mode is None:
            mode = self.mode if metric in (None, self.monitor) else "min"
        check_mode("History.best", mode)
        name = self.monitor if metric is None else metric
        costs = {}
        for number, each in enumerate(self.epochs):
            cost = cost_of(each.metrics.get(name), mode)
            if not math.isnan(cost):
                costs[number] = cost
        if not costs:
            raise core.NotFound(
                f"History.best: there must be an epoch with a number for '{name}', got none in "
                f"{len(self)} epochs"
            )
        return self.epochs[min(costs, key=lambda number: costs[number])]

    def __repr__(self) -> str:
        last = f", last {self.epochs[-1].metrics}" if self.epochs else ""
        why = f", stopped by {self.stopped}" if self.stopped else ""
        return f"History({len(self)} epochs, {self.steps} steps{last}{why})"


def check_mode(what: str, mode: object) -> None:
    """Raises unless it is a mode."""
    if mode not in ("min", "max"):
        raise core.InvalidArgument(f"{what}: mode must be 'min' or 'max', got {mode!r}")


def cost_of(value: object, mode: Mode) -> float:
    """A metric as what is the lower the better; NaN for what is no number."""
    if not isinstance(value, Real):
        return math.nan
    return float(value) if mode == "min" else -float(value)
