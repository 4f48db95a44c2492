"""What a reader is: checked, named, opened, and closed whatever happens."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

Reader: TypeAlias = Callable[[], Iterable[Any]]


def check_reader(what: str, reader: object) -> None:
    """Raises unless something is callable without arguments.

    Raises:
        TypeError: It is not, with what to write.
    """
    wanted = "must be a function without arguments that returns an iterable"
    if not callable(reader):
        raise TypeError(f"{what}: a reader {wanted}, got {type(reader).__name__}")
    try:
        signature = inspect.signature(reader)
    except (TypeError, ValueError):  # of some that are written in C
        return
    try:
        signature.bind()
    except TypeError:
        name = name_of(reader)
        raise TypeError(
            f"{what}: a reader {wanted}, got {name}{signature}; write lambda: {name}(...)"
        ) from None


def name_of(reader: object) -> str:
    """How errors call a reader."""
    name = getattr(reader, "__name__", None)
    return name if isinstance(name, str) else type(reader).__name__


def named(read: Reader, decorator: str, *readers: Reader) -> Reader:
    """The reader of a decorator, called like `buffered(train)`."""
    read.__name__ = read.__qualname__ = f"{decorator}({', '.join(map(name_of, readers))})"
    return read


def open_reader(what: str, reader: Reader) -> Iterator[Any]:
    """Begins to read.

    Raises:
        TypeError: The reader returns something that cannot be iterated over.
    """
    items = reader()
    try:
        return iter(items)
    except TypeError:
        raise TypeError(
            f"{what}: reader {name_of(reader)} must return an iterable, got {type(items).__name__}"
        ) from None


def close(items: Iterator[Any]) -> None:
    """Ends an iterator: a generator runs its `finally`, and with it the threads end."""
    end = getattr(items, "close", None)
    if callable(end):
        end()


@contextmanager
def opened(what: str, *readers: Reader) -> Iterator[list[Iterator[Any]]]:
    """The items of readers, closed at the end.

    A frame that an error keeps alive keeps its iterators, so they are not left to be collected.
    """
    with ExitStack() as stack:
        items = []
        for reader in readers:
            items.append(open_reader(what, reader))
            stack.callback(close, items[-1])
        yield items
