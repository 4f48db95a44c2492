"""Where batches come from, as what Executor.run is fed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.data_feeder import DataFeeder
from fluidcore.program import Program

Feed: TypeAlias = Mapping[str, Any]
CountSamples: TypeAlias = Callable[[Feed], int]


class Batches:
    """A loader, an iterable of dicts, or a reader, gone through once for each epoch.

    Args:
        what: How errors call it.
        loader: What the user gave.
        feeder: Makes dicts of a reader's minibatches.

    Raises:
        TypeError: The loader cannot be gone through.
    """

    def __init__(self, what: str, loader: Any, feeder: DataFeeder | None) -> None:
        is_reader = callable(loader) and not hasattr(loader, "__iter__")
        if not is_reader and (
            not hasattr(loader, "__iter__") or isinstance(loader, (str, bytes, Mapping))
        ):
            cure = "; write [batch] for one batch" if isinstance(loader, Mapping) else ""
            raise TypeError(
                f"{what} must be a DataLoader, an iterable of dicts, or a reader, got "
                f"{type(loader).__name__}{cure}"
            )
        self._what = what
        self._feeder = feeder
        self._loader = loader
        self._open: Callable[[], Any] = loader if is_reader else lambda: loader
        self.has_position = hasattr(loader, "state_dict") and hasattr(loader, "load_state_dict")

    def position(self) -> dict[str, Any]:
        """That of the loader; empty where it has none."""
        return dict(self._loader.state_dict()) if self.has_position else {}

    def restore(self, position: dict[str, Any]) -> None:
        """Goes to a position; nothing where the loader has none."""
        if self.has_position:
            self._loader.load_state_dict(position)

    def is_of(self, other: Batches) -> bool:
        """Whether the two go through one loader."""
        return self._loader is other._loader

    def count(self) -> int | None:
        """Batches of an epoch, if the loader knows."""
        try:
            return len(self._loader)
        except TypeError:
            return None

    def feeds(self, skipped: int = 0) -> Generator[Feed, None, None]:
        """The batches of an epoch; what it opened is closed at the end, or by `close`.

        Args:
            skipped: So many at the beginning have been seen before; a loader that has a position is
                there already.
        """
        opened = self._open()
        batches = iter(opened)
        try:
            for number, batch in enumerate(batches):
                if self.has_position or number >= skipped:
                    yield self._fed(batch)
        finally:
            if batches is not self._loader and hasattr(batches, "close"):
                batches.close()

    def _fed(self, batch: Any) -> Feed:
        if isinstance(batch, Mapping):
            return batch
        if self._feeder is None:
            raise TypeError(
                f"{self._what} must give dicts of what is fed, got {type(batch).__name__}; give "
                "feed_list=[...] to the DataLoader, or feeder=fluid.DataFeeder([...]) to the "
                "Trainer of a reader"
            )
        return self._feeder.feed(batch)


def samples_of(feed: Feed, program: Program) -> int:
    """How many samples a batch has: the first extent of what is fed to variables [-1, ...].

    Batches without such a variable count as one sample.

    Raises:
        core.InvalidArgument: They differ.
    """
    counts = {}
    block = program.global_block().desc
    for name, value in feed.items():
        declared = block.find_var(name)
        if declared is not None and declared.shape()[:1] == [-1]:
            extents = _shape(value)
            counts[name] = extents[0] if extents else 1
    if len(set(counts.values())) > 1:
        raise core.InvalidArgument(
            f"Trainer: the first extents of what is fed, the number of samples, must be equal, got "
            f"{counts}; give Trainer(..., samples=lambda feed: ...), which counts them"
        )
    return next(iter(counts.values()), 1)


def _shape(value: Any) -> tuple[int, ...]:
    shape = getattr(value, "shape", None)
    if shape is None:
        return np.shape(value)
    return tuple(shape() if callable(shape) else shape)
