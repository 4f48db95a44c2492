"""Names that are used once: fc_0, fc_1, ..."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fluidcore.base.checks import check_name


class NameGenerator:
    """Counts, for each key, the names it has given out."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._counts: dict[str, int] = {}

    def __call__(self, key: str) -> str:
        """A new name that starts with `key`."""
        check_name("the key of a unique name", key)
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        return f"{self.prefix}{key}_{count}"


_current: ContextVar[NameGenerator] = ContextVar("fluidcore_names", default=NameGenerator())  # noqa: B039


def generate(key: str) -> str:
    """A new name that starts with `key`: "fc" gives fc_0, then fc_1."""
    return _current.get()(key)


def switch(new_generator: NameGenerator | None = None) -> NameGenerator:
    """Replaces the generator (by a new one that starts at 0) and returns the old one."""
    old = _current.get()
    _current.set(_checked(NameGenerator() if new_generator is None else new_generator))
    return old


def _checked(generator: object) -> NameGenerator:
    if not isinstance(generator, NameGenerator):
        raise TypeError(f"new_generator must be a NameGenerator, got {generator!r}")
    return generator


@contextmanager
def guard(new_generator: NameGenerator | str | None = None) -> Iterator[None]:
    """Counts from 0 inside the `with` block, and goes on as before after it.

    Args:
        new_generator: The generator to use inside, or a prefix of all names made inside.
    """
    if new_generator is None or isinstance(new_generator, str):
        new_generator = NameGenerator(new_generator or "")
    token = _current.set(_checked(new_generator))
    try:
        yield
    finally:
        _current.reset(token)
