"""What holds for all operators of a thread: recording, precision; and random numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.base.checks import is_whole
from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_name

recording: ContextVar[bool] = ContextVar("fluidcore_eager_recording", default=True)


class Precision(NamedTuple):
    """In which element type operators run.

    Attributes:
        dtype: Of all that is floating.
        numbers: The element type that numbers in the user's function have; None: `dtype`.
    """

    dtype: str
    numbers: str | None


running: ContextVar[Precision | None] = ContextVar("fluidcore_eager_precision", default=None)

_MAX_SEED = 2**31 - 1


@contextmanager
def no_grad() -> Iterator[None]:
    """Operators inside the `with` block, or the decorated function, are not recorded.

    Their results require no gradient. Holds for this thread.
    """
    token = recording.set(False)
    try:
        yield
    finally:
        recording.reset(token)


_reached: ContextVar[list[Any] | None] = ContextVar("fluidcore_eager_reached", default=None)


@contextmanager
def noting_backward() -> Iterator[list[Any]]:
    """Gives the list of the leaves by which `backward` and `grad` differentiate in the block."""
    leaves: list[Any] = []
    token = _reached.set(leaves)
    try:
        yield leaves
    finally:
        _reached.reset(token)


def note_backward(leaves: Iterable[Any]) -> None:
    """Adds to the list of `noting_backward`, if there is one."""
    reached = _reached.get()
    if reached is not None:
        reached.extend(leaves)


@contextmanager
def precision(dtype: DTypeLike, numbers: DTypeLike | None = None) -> Iterator[None]:
    """Operators inside the `with` block run in one floating element type.

    Floating inputs are converted to it; whole numbers stay. Holds for this thread.

    Args:
        dtype: Floating.
        numbers: Rounds numbers, as in `0.1 * x`, to this floating element type first: what a
            float32 function is in float64, as 0.1 is another number in float32.
    """
    names = [dtype_name(given) for given in (dtype, numbers) if given is not None]
    for name in names:
        if name not in FLOATING:
            raise core.InvalidArgument(f"precision: the dtype must be floating, got {name}")
    token = running.set(Precision(names[0], names[1] if len(names) > 1 else None))
    try:
        yield
    finally:
        running.reset(token)


class _Random:
    """Where operators get their seeds from."""

    def __init__(self, number: int | None = None) -> None:
        self.generator = np.random.default_rng(number)
        self.has_drawn = False


_common = _Random()
_random: ContextVar[_Random] = ContextVar("fluidcore_eager_random", default=_common)


def seed(number: int) -> None:
    """Random operators give the same numbers after the same seed.

    Args:
        number: 0 or more.
    """
    if not is_whole(number) or number < 0:
        raise core.InvalidArgument(f"seed must be a whole number of at least 0, got {number!r}")
    _random.get().generator = np.random.default_rng(number)


@contextmanager
def same_numbers() -> Iterator[None]:
    """Random operators draw the same numbers in every such `with` block.

    After it they go on where they were. Holds for this thread.
    """
    token = _random.set(_Random(0))
    try:
        yield
    finally:
        _random.reset(token)


def draw_seed() -> int:
    """A seed for one application of a random operator."""
    random = _random.get()
    random.has_drawn = True
    return int(random.generator.integers(1, _MAX_SEED))


def has_drawn() -> bool:
    """Whether an operator has drawn random numbers since `same_numbers` began."""
    return _random.get().has_drawn
