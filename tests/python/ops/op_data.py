"""Random but repeatable inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

SHAPES = [
    (),
    (1,),
    (0, 4),
    (3, 5),
    (257,),
    (2, 3, 7),
]  # rank 0, one, empty, odd, longer than a vector


def normal(*shape: int, seed: int = 0) -> Doubles:
    """Standard normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def away_from_zero(*shape: int, seed: int = 0) -> Doubles:
    """Numbers of both signs, at least 0.1 from 0, where some functions have a kink."""
    x = normal(*shape, seed=seed)
    return np.asarray(np.where(x < 0, x - 0.1, x + 0.1))


def positive(*shape: int, seed: int = 0) -> Doubles:
    """Numbers in [0.5, 2.5)."""
    return 0.5 + 2.0 * np.random.default_rng([seed, *shape]).random(shape)


def distinct(*shape: int, seed: int = 0) -> Doubles:
    """Numbers that are at least 0.05 apart: without ties for a maximum."""
    size = int(np.prod(shape, dtype=np.int64))
    order = np.random.default_rng([seed, *shape]).permutation(size)
    return ((order - size / 2 + 0.25) * 0.05).reshape(shape)


def integers(low: int, high: int, *shape: int, seed: int = 0) -> NDArray[np.int64]:
    """Whole numbers in [low, high)."""
    return np.random.default_rng([seed, *shape]).integers(low, high, shape, dtype=np.int64)


def probabilities(rows: int, classes: int, *, seed: int = 0) -> Doubles:
    """Rows that add up to 1, no element near 0."""
    x = positive(rows, classes, seed=seed)
    return x / x.sum(axis=-1, keepdims=True) if classes else x
