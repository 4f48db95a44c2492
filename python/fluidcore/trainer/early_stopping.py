"""EarlyStopping: ends a training that does not get better."""

from __future__ import annotations

from typing import Any

from fluidcore.base.checks import check_not_negative, check_whole
from fluidcore.base.settings import Settings


class EarlyStopping(Settings):
    """Ends a training when the metric that `train` monitors does not get better.

    A setting only: what has been seen belongs to each training, and to its checkpoints.

    Args:
        patience: So many epochs in a row without an improvement end the training; at least 1.
        min_delta: An improvement is more than that; at least 0.
    """

    def __init__(self, patience: int, min_delta: float = 0.0) -> None:
        self.patience = check_whole("EarlyStopping: patience", patience, 1)
        self.min_delta = check_not_negative("EarlyStopping: min_delta", min_delta)


class Patience:
    """How long one training has not got better.

    Args:
        setting: None waits forever.
    """

    def __init__(self, setting: EarlyStopping | None) -> None:
        self._setting = setting
        self._best: float | None = None
        self._waited = 0

    def see(self, cost: float | None) -> None:
        """Takes what an epoch gave, the lower the better; None is no improvement."""
        delta = self._setting.min_delta if self._setting else 0.0
        if cost is not None and (self._best is None or cost < self._best - delta):
            self._best, self._waited = cost, 0
        else:
            self._waited += 1

    @property
    def is_over(self) -> bool:
        """Whether it has waited long enough."""
        return self._setting is not None and self._waited >= self._setting.patience

    def state(self) -> dict[str, Any]:
        """What JSON can hold."""
        return {"best": self._best, "waited": self._waited}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from a state."""
        self._best, self._waited = state["best"], state["waited"]
