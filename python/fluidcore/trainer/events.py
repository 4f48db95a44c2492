"""What an event handler is told, by Fluid's names; epochs and steps are counted from 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias


class BeginEpochEvent(NamedTuple):
    """An epoch begins; after `resume`, also the rest of one.

    Attributes:
        epoch: Its number.
    """

    epoch: int


class BeginStepEvent:
    """A step begins: its batch is there, and has not been run.

    Attributes:
        epoch: The number of the epoch.
        step: The number of the step in its epoch.
        global_step: The number of the step in the training.
        fetch_metrics: Whether the step gives its loss and metrics; may be set to False, and then
            the step does not count in the means of its epoch.
    """

    def __init__(self, epoch: int, step: int, global_step: int) -> None:
        self.epoch = epoch
        self.step = step
        self.global_step = global_step
        self.fetch_metrics = True

    def __repr__(self) -> str:
        return (
            f"BeginStepEvent(epoch={self.epoch}, step={self.step}, global_step={self.global_step}, "
            f"fetch_metrics={self.fetch_metrics})"
        )


class EndStepEvent(NamedTuple):
    """A step has been done.

    Attributes:
        epoch: The number of the epoch.
        step: The number of the step in its epoch.
        global_step: The number of the step in the training.
        metrics: "loss", and the names of the Variables in `metrics` -> value of this batch; empty
            where `fetch_metrics` was set to False.
    """

    epoch: int
    step: int
    global_step: int
    metrics: dict[str, float]


class EndEpochEvent(NamedTuple):
    """An epoch has been done, and evaluated.

    Attributes:
        epoch: Its number.
        metrics: "loss", the names of `metrics`, and those of the evaluation as "val_loss" -> value
            of the epoch.
    """

    epoch: int
    metrics: dict[str, Any]


Event: TypeAlias = BeginEpochEvent | BeginStepEvent | EndStepEvent | EndEpochEvent
EventHandler: TypeAlias = Callable[[Any], object]
