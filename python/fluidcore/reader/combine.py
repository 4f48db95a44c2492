"""Several readers as one: mapped, one after the other, or side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from fluidcore import core
from fluidcore.reader.creator import Reader, check_reader, name_of, named, opened

_MISSING = object()


class ComposeNotAligned(core.InvalidArgument):
    """`compose` found a reader that ends before the others; a ValueError, too."""


def map_readers(func: Callable[..., Any], *readers: Reader) -> Reader:
    """A reader of func(a, b, ...), of one item of each reader; it ends with the shortest.

    Args:
        func: Takes as many arguments as there are readers.
        readers: At least one.

    Raises:
        TypeError: A reader is no function without arguments.
    """
    if not callable(func):
        raise TypeError(f"map_readers: func must be a function, got {type(func).__name__}")
    _check_some("map_readers", readers)

    def read() -> Iterator[Any]:
        with opened("map_readers", *readers) as items:
            yield from map(func, *items)

    return named(read, "map_readers", *readers)


def chain(*readers: Reader) -> Reader:
    """A reader of all items of the first reader, then those of the second, and so on.

    Args:
        readers: At least one.

    Raises:
        TypeError: A reader is no function without arguments.
    """
    _check_some("chain", readers)

    def read() -> Iterator[Any]:
        for reader in readers:
            with opened("chain", reader) as (items,):
                yield from items

    return named(read, "chain", *readers)


def compose(*readers: Reader, check_alignment: bool = True) -> Reader:
    """A reader of tuples that join an item of each reader: (1, 2), 3 and (4, 5) to (1, 2, 3, 4, 5).

    Args:
        readers: At least one. An item that is no tuple counts as a tuple of one.
        check_alignment: Whether readers of different lengths are an error; else what comes after
            the end of the shortest is left out.

    Raises:
        TypeError: A reader is no function without arguments.
        ComposeNotAligned: When read: a reader ends before the others.
    """
    _check_some("compose", readers)

    def read() -> Iterator[tuple[Any, ...]]:
        with opened("compose", *readers) as items:
            if not check_alignment:
                yield from map(_joined, zip(*items, strict=False))
                return
            for count, parts in enumerate(zip_longest(*items, fillvalue=_MISSING)):
                if any(part is _MISSING for part in parts):
                    raise _not_aligned(count, parts, readers)
                yield _joined(parts)

    return named(read, "compose", *readers)


def _joined(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        field for part in parts for field in (part if isinstance(part, tuple) else (part,))
    )


def _not_aligned(
    count: int, parts: tuple[Any, ...], readers: tuple[Reader, ...]
) -> ComposeNotAligned:
    ended, going = (
        ", ".join(
            f"{name_of(reader)} (reader {i})"
            for i, (part, reader) in enumerate(zip(parts, readers, strict=True))
            if (part is _MISSING) == is_ended
        )
        for is_ended in (True, False)
    )
    return ComposeNotAligned(
        f"compose: the readers must have equally many items, got {count} of {ended} and more of "
        f"{going}; check_alignment=False leaves these out"
    )


def _check_some(what: str, readers: tuple[Reader, ...]) -> None:
    if not readers:
        raise TypeError(f"{what}: there must be at least one reader, got none")
    for reader in readers:
        check_reader(what, reader)
