"""One reader in another form: in batches, shuffled, its beginning, or kept in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import numpy as np

from fluidcore.base.checks import check_whole
from fluidcore.reader.creator import Reader, check_reader, named, opened


def batch(reader: Reader, batch_size: int, drop_last: bool = False) -> Reader:
    """A reader of lists of `batch_size` items, as DataFeeder.feed takes them.

    Args:
        reader: Of samples.
        batch_size: At least 1.
        drop_last: Whether a last list of fewer items is left out.

    Raises:
        TypeError: The reader is no function without arguments; the size is not whole.
        core.InvalidArgument: The size is below 1.
    """
    check_reader("batch", reader)
    size = check_whole("batch: batch_size", batch_size, 1)

    def read() -> Iterator[list[Any]]:
        with opened("batch", reader) as (items,):
            while found := list(islice(items, size)):
                if len(found) == size or not drop_last:
                    yield found

    return named(read, "batch", reader)


def shuffle(reader: Reader, buf_size: int, seed: int | None = None) -> Reader:
    """A reader of the same items, `buf_size` at a time in an order drawn by chance.

    Args:
        reader: Of anything.
        buf_size: How many items are read before the first is given; at least 1.
        seed: At least 0: the first time that the result is read gives one order, the second time
            another, and so on, the same in every process. None: other orders in every process.

    Raises:
        TypeError: The reader is no function without arguments; a number is not whole.
        core.InvalidArgument: A number is too small.
    """
    check_reader("shuffle", reader)
    size = check_whole("shuffle: buf_size", buf_size, 1)
    if seed is not None:
        check_whole("shuffle: seed", seed, 0)
    epochs = count()

    def read() -> Iterator[Any]:
        generator = np.random.default_rng(None if seed is None else (seed, next(epochs)))
        with opened("shuffle", reader) as (items,):
            while found := list(islice(items, size)):
                for i in generator.permutation(len(found)):
                    yield found[i]

    return named(read, "shuffle", reader)


def firstn(reader: Reader, n: int) -> Reader:
    """A reader of the first `n` items, or of all if there are fewer; no more are read.

    Raises:
        TypeError: The reader is no function without arguments; n is not whole.
        core.InvalidArgument: n is below 0.
    """
    check_reader("firstn", reader)
    number = check_whole("firstn: n", n, 0)

    def read() -> Iterator[Any]:
        with opened("firstn", reader) as (items,):
            yield from islice(items, number)

    return named(read, "firstn", reader)


def cache(reader: Reader) -> Reader:
    """A reader of items that are read once, now, and kept in memory.

    Raises:
        TypeError: The reader is no function without arguments.
    """
    check_reader("cache", reader)
    with opened("cache", reader) as (items,):
        kept = tuple(items)

    def read() -> Iterator[Any]:
        yield from kept

    return named(read, "cache", reader)
