"""Files of data sets: opened, plain or gzip, and read no further than they should go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from fluidcore import core

Path = str | os.PathLike[str]

_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20  # bytes; a header may promise more than there is


@contextmanager
def open_file(what: str, path: Path) -> Iterator[IO[bytes]]:
    """A file, or what is in it if it is a gzip file, whatever its name.

    Raises:
        core.NotFound: There is no such file.
        core.InvalidArgument: In the `with` block: the gzip file is damaged.
    """
    import gzip
    import zlib

    name = os.fspath(path)
    if not os.path.isfile(name):
        raise core.NotFound(f"{what}: no file {name}")
    with open(name, "rb") as file:
        is_gzip = file.read(2) == _GZIP
        file.seek(0)
        if not is_gzip:
            yield file
            return
        try:
            with gzip.GzipFile(fileobj=file) as content:
                yield cast("IO[bytes]", content)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise core.InvalidArgument(
                f"{what}: {name} must be a whole gzip file, got a damaged one: {error}"
            ) from None


def read_up_to(file: IO[bytes], count: int) -> bytearray:
    """The next `count` bytes, or fewer at the end; needs memory only for what is there."""
    content = bytearray()
    while len(content) < count:
        chunk = file.read(min(_CHUNK, count - len(content)))
        if not chunk:
            break
        content += chunk
    return content
