"""Which samples of a batch are those of one rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_name
from fluidcore.data_loader.sources import Indices, Source
from fluidcore.program import Variable


class Shard:
    """Parts of batches: rank r of n has those from r/n on to (r + 1)/n.

    Args:
        communicator: The ranks.
        samples: The variable, or its name, that gets int64 [2]: how many samples this rank's part
            has, and the batch; None where all parts must be equal.
    """

    def __init__(
        self, communicator: core.Communicator | None, samples: Variable | str | None
    ) -> None:
        if not (communicator is None or isinstance(communicator, core.Communicator)):
            raise TypeError(
                "DataLoader: communicator must be a Communicator or None, got "
                f"{type(communicator).__name__}; write fluid.parallel.world()"
            )
        self._rank = 0 if communicator is None else communicator.rank
        self._size = 1 if communicator is None else communicator.size
        self._name = (
            samples.name
            if isinstance(samples, Variable)
            else None
            if samples is None
            else check_name("DataLoader: samples", samples)
        )

    def check(self, source: Source, batch_size: int, drop_last: bool) -> None:
        """Raises core.InvalidArgument where parts would have to be equal and are not."""
        rest = 0 if drop_last else source.size % batch_size
        if self._name is None and (batch_size % self._size or rest % self._size):
            raise core.InvalidArgument(
                f"DataLoader: batches must divide among {self._size} ranks, got batch_size "
                f"{batch_size}{f' and a last batch of {rest}' if rest else ''}; give another "
                "batch_size, drop_last=True, or samples=..., by which ranks count what they have"
            )

    def batch(self, source: Source, indices: Indices) -> Any:
        """This rank's part; of a batch with fewer samples than ranks, one that counts nothing."""
        begin, end = (len(indices) * rank // self._size for rank in (self._rank, self._rank + 1))
        part = source.batch(indices[begin:end] if end > begin else indices[:1])
        if self._name is None:
            return part
        if not isinstance(part, Mapping):
            raise core.InvalidArgument(
                f"DataLoader: batches must be dicts where samples is given, got "
                f"{type(part).__name__}; give feed_list, too"
            )
        return {**part, self._name: np.array([end - begin, len(indices)], np.int64)}
