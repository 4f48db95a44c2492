"""Files that one rank writes for all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fluidcore import core


@contextmanager
def written_by_one(communicator: core.Communicator | None) -> Iterator[bool]:
    """Whether this process writes, inside; at its end all wait until that is done.

    Raises:
        core.RankFailed: On the other ranks, where the writing one fails.
    """
    if communicator is None:
        yield True
        return
    try:
        yield communicator.rank == 0
    except BaseException as error:
        communicator.fail(f"{type(error).__name__}: {error}")
        raise
    communicator.gather([1], "the wait until rank 0 has written a checkpoint")
