"""Shows how training goes: a bar in a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Told after each epoch how it went."""

    def __call__(self, epoch: int, loss: float, images: int) -> None:
        """Shows the epochs done, the mean loss of the last one, and the images seen so far."""


@contextmanager
def progress(epochs: int) -> Iterator[Progress]:
    """A bar or lines for so many epochs, until the `with` block ends."""
    start = time.perf_counter()

    def speed(images: int) -> str:
        return f"{images / max(time.perf_counter() - start, 1e-9):,.0f} images/s"

    if not sys.stdout.isatty():
        every = max(1, epochs // 5)

        def line(epoch: int, loss: float, images: int) -> None:
            if epoch % every == 0 or epoch == epochs:
                print(f"   epoch {epoch:3}/{epochs}   loss {loss:.4f}   {speed(images)}")

        yield line
        return

    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    epoch_column = TextColumn("   epoch {task.completed:3}/{task.total}")
    loss_column = TextColumn("loss {task.fields[loss]}   {task.fields[speed]}")
    with Bar(epoch_column, BarColumn(), loss_column) as bar:
        task = bar.add_task("training", total=epochs, loss="-", speed="")

        def update(epoch: int, loss: float, images: int) -> None:
            bar.update(task, completed=epoch, loss=f"{loss:.4f}", speed=speed(images))

        yield update
