"""Shows how a training goes: a bar in a terminal, else a line for each epoch."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, Protocol, TextIO

_EVERY = 0.1  # seconds between two changes of the bar


class Display(Protocol):
    """Told how a training goes; epochs are counted from 0."""

    def begin_epoch(self, epoch: int, epochs: int, done: int, steps: int | None) -> None:
        """An epoch begins, with so many of its steps done before; `steps` if it is known."""

    def step(self, metrics: Mapping[str, float], samples: int) -> None:
        """A step was done."""

    def end_steps(self) -> None:
        """The last step of the epoch was done."""

    def end_epoch(self, metrics: Mapping[str, Any]) -> None:
        """The epoch was done, and evaluated."""

    def close(self) -> None:
        """The training has ended."""


class Silence:
    """Shows nothing."""

    def begin_epoch(self, epoch: int, epochs: int, done: int, steps: int | None) -> None:
        """Nothing."""

    def step(self, metrics: Mapping[str, float], samples: int) -> None:
        """Nothing."""

    def end_steps(self) -> None:
        """Nothing."""

    def end_epoch(self, metrics: Mapping[str, Any]) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Lines:
    """A line for each epoch: its metrics, and how many samples were trained on in a second."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.perf_counter) -> None:
        self._out = out
        self._clock = clock
        self._title = ""
        self._start = self._seconds = 0.0
        self._samples = 0

    def begin_epoch(self, epoch: int, epochs: int, done: int, steps: int | None) -> None:
        """Starts the clock."""
        del done, steps
        self._title = f"epoch {epoch + 1:{len(str(epochs))}}/{epochs}"
        self._samples, self._seconds, self._start = 0, 0.0, self._clock()

    def step(self, metrics: Mapping[str, float], samples: int) -> None:
        """Counts the samples."""
        del metrics
        self._samples += samples

    def end_steps(self) -> None:
        """Stops the clock."""
        self._seconds = self._clock() - self._start

    def end_epoch(self, metrics: Mapping[str, Any]) -> None:
        """Writes the line."""
        self._write("   ".join([self._title, *_texts(metrics), self._rate(self._seconds)]))

    def _rate(self, seconds: float) -> str:
        return f"{self._samples / max(seconds, 1e-9):,.0f} samples/s"

    def _write(self, line: str) -> None:
        print(line, file=self._out, flush=True)

    def close(self) -> None:
        """Nothing is left to do."""


class Bars(Lines):
    """A bar for the steps of the epoch, with what remains of it, below the lines."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.perf_counter) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        super().__init__(out, clock)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[shown]}"),
            TimeRemainingColumn(),
            console=Console(file=out),
            transient=True,
            auto_refresh=False,  # by a thread, which would outlive the training for a moment
        )
        self._task = self._bar.add_task("", total=None, shown="")
        self._steps = 0
        self._shown_at = 0.0

    def begin_epoch(self, epoch: int, epochs: int, done: int, steps: int | None) -> None:
        """Empties the bar."""
        super().begin_epoch(epoch, epochs, done, steps)
        self._steps = done
        self._bar.reset(self._task, total=steps, completed=done, description=self._title, shown="")
        self._bar.start()
        self._bar.refresh()

    def step(self, metrics: Mapping[str, float], samples: int) -> None:
        """Moves the bar, ten times in a second at most."""
        super().step(metrics, samples)
        self._steps += 1
        now = self._clock()
        if now - self._shown_at >= _EVERY:
            self._shown_at = now
            shown = "   ".join([*_texts(metrics), self._rate(now - self._start)])
            self._bar.update(self._task, completed=self._steps, shown=shown, refresh=True)

    def end_steps(self) -> None:
        """Fills the bar; it stays so while the epoch is evaluated."""
        super().end_steps()
        self._bar.update(self._task, completed=self._steps, total=self._steps, refresh=True)

    def _write(self, line: str) -> None:
        self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Removes the bar; the lines stay."""
        self._bar.stop()


def display(wanted: bool, out: TextIO | None = None) -> Display:
    """What suits where the output goes.

    Args:
        wanted: Else nothing is shown.
        out: None for sys.stdout.
    """
    out = sys.stdout if out is None else out
    if not wanted or out is None:  # there may be no sys.stdout, in a program with windows
        return Silence()
    return Bars(out) if out.isatty() else Lines(out)


def _texts(metrics: Mapping[str, Any]) -> list[str]:
    """The metrics that are numbers, as "loss 0.1234"."""
    return [f"{name} {value:.4g}" for name, value in metrics.items() if isinstance(value, Real)]
