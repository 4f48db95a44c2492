"""Random numbers of a check."""

from __future__ import annotations

import functools
import random
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.random  # else NumPy does it in the first check
from numpy.random.bit_generator import ISeedSequence
from numpy.typing import NDArray

_BITS = 2.0**10
_SEED = 0
_are_kept: ContextVar[bool] = ContextVar("random states are kept", default=False)


def stream(seed: int, name: str, purpose: str) -> np.random.Generator:
    """A generator of its own for every seed, name and purpose.

    Cotangents, directions and dithers so never repeat the numbers of the data, nor of each other:
    for a cotangent that equals x, the gradient of x / |x| is 0, right or wrong. NumPy's global
    state is not touched. Of a seed, 64 bits count.
    """
    words = zlib.crc32(name.encode()) << 32 | zlib.crc32(purpose.encode())
    key = np.array([seed % 2**64, words], dtype=np.uint64)
    bits = np.random.Philox(_Key(key))  # type: ignore[arg-type]  # which is one
    return np.random.Generator(bits)


class _Key(ISeedSequence):
    """A key of Philox as it is: with key= NumPy asks the system for entropy, too, and drops it."""

    def __init__(self, words: NDArray[np.uint64]) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        return self._words


@contextmanager
def random_states_kept() -> Iterator[None]:
    """The global generators of NumPy and of Python are in the end as they were before.

    Within itself it does nothing: only the outermost end counts.
    """
    if _are_kept.get():
        yield
        return
    arrays, numbers, kept = np.random.get_state(), random.getstate(), _are_kept.set(True)
    try:
        yield
    finally:
        _are_kept.reset(kept)
        np.random.set_state(arrays)
        random.setstate(numbers)


def draw_same_numbers() -> None:
    """The global generators start anew, from a fixed seed."""
    np.random.seed(_SEED)
    random.seed(_SEED)


def are_drawn() -> bool:
    """Whether numbers were drawn since then; draws some itself."""
    return _next_numbers() != _first_numbers()


@functools.cache
def _first_numbers() -> tuple[bytes, int]:
    draw_same_numbers()
    return _next_numbers()


def _next_numbers() -> tuple[bytes, int]:
    return np.random.bytes(8), random.getrandbits(64)


def few_bits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to 10 significant bits, so that sums of x and a power of two times them are exact."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.round(fraction * _BITS) / _BITS, exponent)
