"""Readers that threads read ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fluidcore.base.checks import check_whole
from fluidcore.reader.creator import Reader, check_reader, name_of, named, opened
from fluidcore.reader.workers import worked


def buffered(reader: Reader, size: int) -> Reader:
    """A reader of the same items, of which a thread reads up to `size` ahead.

    What the reader raises comes in its turn, with its traceback and a note that says at which item.
    The thread ends with the items, or when who reads them stops early.

    Args:
        reader: Of anything.
        size: At least 1.

    Raises:
        TypeError: The reader is no function without arguments; the size is not whole.
        core.InvalidArgument: The size is below 1.
    """
    check_reader("buffered", reader)
    ahead = check_whole("buffered: size", size, 1)

    def read() -> Iterator[Any]:
        with opened("buffered", reader) as (items,):
            yield from worked(
                items, _itself, threads=1, ahead=ahead, describe=_describe("buffered", reader)
            )

    return named(read, "buffered", reader)


def xmap_readers(
    mapper: Callable[[Any], Any],
    reader: Reader,
    process_num: int,
    buffer_size: int,
    order: bool = False,
) -> Reader:
    """A reader of mapper(item), calculated by threads.

    What the reader or the mapper raises comes to who reads, with its traceback and a note that says
    at which item. The threads end with the items, or when who reads them stops early.

    Args:
        mapper: Takes an item; is called by several threads at once.
        reader: Of anything; is read by one thread at a time.
        process_num: How many threads (Fluid's name, and Fluid's were threads, too); at least 1.
        buffer_size: How many items are ahead of who reads them, being mapped included; at least 1.
            Of more threads, each has one.
        order: Whether the results are in the order of the items, else in that of their ends.

    Raises:
        TypeError: The reader is no function without arguments; a number is not whole.
        core.InvalidArgument: A number is below 1.
    """
    if not callable(mapper):
        raise TypeError(f"xmap_readers: mapper must be a function, got {type(mapper).__name__}")
    check_reader("xmap_readers", reader)
    threads = check_whole("xmap_readers: process_num", process_num, 1)
    ahead = max(threads, check_whole("xmap_readers: buffer_size", buffer_size, 1))

    def read() -> Iterator[Any]:
        with opened("xmap_readers", reader) as (items,):
            yield from worked(
                items,
                mapper,
                threads=threads,
                ahead=ahead,
                ordered=order,
                describe=_describe("xmap_readers", reader),
            )

    return named(read, "xmap_readers", reader)


def _itself(item: Any) -> Any:
    return item


def _describe(what: str, reader: Reader) -> Callable[[int], str]:
    return lambda number: f"{what}: at item {number} of reader {name_of(reader)}"
