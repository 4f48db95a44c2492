"""TensorBoard: an event handler that writes what TensorBoard shows."""

from __future__ import annotations

import os
from importlib import import_module
from numbers import Real
from typing import Any

from fluidcore.trainer.events import EndEpochEvent, EndStepEvent


class TensorBoard:
    """Writes the metrics of steps, as "step/loss", and of epochs, as "epoch/val_loss".

    trainer.train(loader, 10, event_handler=fluid.trainer.TensorBoard("runs/1"))

    What is written is on the disk after each epoch. `train` closes it at its end, after errors too;
    another training goes on in the same folder.

    Args:
        logdir: The folder.

    Raises:
        ImportError: tensorboardX is not installed.
    """

    def __init__(self, logdir: str | os.PathLike[str]) -> None:
        try:
            self._module: Any = import_module("tensorboardX")
        except ImportError as error:
            raise ImportError(
                "TensorBoard: tensorboardX must be installed, got none; run pip install "
                "'fluidcore-dl[tensorboard]'"
            ) from error
        self.logdir = os.fspath(logdir)
        self._writer: Any = None

    def __call__(self, event: object) -> None:
        """Writes what an event tells."""
        if isinstance(event, EndStepEvent):
            self._write("step", event.metrics, event.global_step)
        elif isinstance(event, EndEpochEvent):
            self._write("epoch", event.metrics, event.epoch)
            self._writer.flush()

    def _write(self, kind: str, metrics: dict[str, Any], number: int) -> None:
        if self._writer is None:
            self._writer = self._module.SummaryWriter(self.logdir)
        for name, value in metrics.items():
            if isinstance(value, Real):
                self._writer.add_scalar(f"{kind}/{name}", value, number)

    def close(self) -> None:
        """Ends the file; the next event begins another one."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def __repr__(self) -> str:
        return f"TensorBoard({self.logdir!r})"
