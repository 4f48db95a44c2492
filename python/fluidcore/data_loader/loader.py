"""DataLoader: goes through a data set in batches, epoch by epoch."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_whole
from fluidcore.data_loader.fields import Names
from fluidcore.data_loader.shard import Shard
from fluidcore.data_loader.sources import Collate, Indices, source_of
from fluidcore.program import Variable
from fluidcore.reader.workers import worked


class DataLoader:
    """Batches of a data set, ready for Executor.run.

        loader = fluid.DataLoader((images, labels), 32, shuffle=True, feed_list=[image, label])
        for epoch in range(10):
            for batch in loader:
                exe.run(feed=batch, fetch_list=[loss])

    Each iteration is the next epoch, also when the one before was left early. One iteration at a
    time has the loader's position, the latest.

    Args:
        dataset: A dict or a tuple of arrays with equal first extents, or one array: batches are
            rows of them, without `shuffle` views. Or anything with `__len__` and `__getitem__`: a
            sample is a dict or a tuple of fields, or one field; a field is an array, a number, or a
            list of numbers. Python's floats become float32, or of the dtype of the variable.
        batch_size: Samples of a batch; the last one may have fewer.
        shuffle: Whether each epoch has an order of its own, drawn by a NumPy generator that is
            seeded by (seed, epoch).
        num_workers: Threads that make batches ahead; 0 for none. They call the data set, and
            `collate`, several at once.
        prefetch: Batches that each thread is ahead.
        drop_last: Whether a last batch of fewer samples is left out.
        seed: Of the orders, at least 0.
        feed_list: Variables or names, one for each field of a tuple, or those of a dict that are
            wanted.
        collate: Makes a batch of a list of samples, in place of stacking their fields. Arrays give
            it samples that are dicts or tuples of their rows.
        communicator: The ranks among which each batch is divided, as `fluid.parallel.world()`: all
            go through the same batches, and each gets its part. The position is the same on all,
            and for any number of ranks.
        samples: A variable, or a name, int64 [2], that is in each batch: how many samples it has,
            and those of all ranks. With it parts may differ: see `fluid.parallel.data_parallel`.

    Iterating gives dicts of arrays [samples, ...], or tuples where there are no names; or what
    `collate` returns, with `feed_list` as a dict.

    Raises:
        TypeError: An argument is of another type.
        core.InvalidArgument: A number is too small, the data set or an epoch empty, arrays differ
            in their first extents, or their fields do not match the names; batches do not divide
            among the ranks, and samples is None. While iterating: a
            sample does not match the others, or the names; the error says which.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        shuffle: bool = False,
        num_workers: int = 0,
        prefetch: int = 2,
        drop_last: bool = False,
        seed: int = 0,
        feed_list: Sequence[Variable | str] | None = None,
        collate: Collate | None = None,
        communicator: core.Communicator | None = None,
        samples: Variable | str | None = None,
    ) -> None:
        self._batch_size = check_whole("DataLoader: batch_size", batch_size, 1)
        self._num_workers = check_whole("DataLoader: num_workers", num_workers, 0)
        self._prefetch = check_whole("DataLoader: prefetch", prefetch, 1)
        self._seed = check_whole("DataLoader: seed", seed, 0)
        if collate is not None and not callable(collate):
            raise TypeError(f"DataLoader: collate must be a function, got {type(collate).__name__}")
        self._shuffle = bool(shuffle)
        self._drop_last = bool(drop_last)
        self._source = source_of(dataset, Names(feed_list), collate)
        self._shard = Shard(communicator, samples)
        self._shard.check(self._source, batch_size, self._drop_last)
        if not len(self):
            raise core.InvalidArgument(
                f"DataLoader: an epoch must have a batch, got batch_size {batch_size} and "
                f"drop_last=True for {self._source.size} samples"
            )
        self._epoch = self._batch = 0  # of the batch that comes next
        self._iteration: object = None  # the one that the position is of; None before and between

    def __len__(self) -> int:
        """Batches of an epoch."""
        size, rest = divmod(self._source.size, self._batch_size)
        return size if self._drop_last or not rest else size + 1

    @property
    def epoch(self) -> int:
        """The number of the epoch that the next batch is of, or of the next one after its last."""
        return self._epoch

    def __iter__(self) -> Generator[Any, None, None]:
        if self._iteration is not None:  # was left early
            self._epoch, self._batch = self._epoch + 1, 0
        self._iteration = object()
        return self._batches(self._iteration, self._epoch, self._batch)

    def _batches(self, iteration: object, epoch: int, first: int) -> Generator[Any, None, None]:
        indices = self._indices(epoch, first)
        if self._num_workers:
            ahead = self._num_workers * self._prefetch
            batches = worked(indices, self._batch_of, threads=self._num_workers, ahead=ahead)
        else:
            batches = (self._batch_of(each) for each in indices)
        with closing(batches):
            for number, batch in enumerate(batches, first + 1):
                if self._iteration is iteration:
                    self._batch = number
                yield batch
        if self._iteration is iteration:
            self._epoch, self._batch, self._iteration = epoch + 1, 0, None

    def _batch_of(self, indices: Indices) -> Any:
        return self._shard.batch(self._source, indices)

    def _indices(self, epoch: int, first: int) -> Iterator[Indices]:
        """The samples of each batch of an epoch, from batch `first` on."""
        size = self._source.size
        order: Indices = range(size)
        if self._shuffle:
            order = np.random.default_rng((self._seed, epoch)).permutation(size)
        for number in range(first, len(self)):
            yield order[number * self._batch_size : (number + 1) * self._batch_size]

    def state_dict(self) -> dict[str, int]:
        """Where the loader is, as plain numbers: what JSON can hold.

        After `load_state_dict`, in another process too, the next iteration gives the batches that
        this one would have given next; none, if only the end of the epoch was to come.
        """
        return {**self._setting(), "seed": self._seed, "epoch": self._epoch, "batch": self._batch}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Goes where a loader was, in its orders.

        Args:
            state: From `state_dict` of a loader of as many samples, with the same `batch_size`,
                `shuffle` and `drop_last`.

        Raises:
            TypeError: It is no mapping, or holds what is no whole number.
            core.InvalidArgument: It is of another kind of loader, or incomplete.
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"DataLoader: the state must be a dict, got {type(state).__name__}")
        setting = self._setting()
        missing = [key for key in self.state_dict() if key not in state]
        if missing:
            raise core.InvalidArgument(
                f"DataLoader: the state must be what state_dict returned, got none of {missing}"
            )
        given = {key: state[key] for key in setting}
        if given != setting:
            raise core.InvalidArgument(
                f"DataLoader: the state must be of a loader like this one, {setting}, got {given}"
            )
        seed, epoch, batch = (
            check_whole(f"DataLoader: '{key}' of the state", state[key], 0)
            for key in ("seed", "epoch", "batch")
        )
        if batch > len(self):
            raise core.InvalidArgument(
                f"DataLoader: 'batch' of the state must be at most {len(self)}, got {batch}"
            )
        self._seed, self._epoch, self._batch, self._iteration = seed, epoch, batch, None

    def _setting(self) -> dict[str, int]:
        return {
            "samples": self._source.size,
            "batch_size": self._batch_size,
            "shuffle": int(self._shuffle),
            "drop_last": int(self._drop_last),
        }
