"""One operator with inputs for it, and the random numbers that inputs are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fluidcore.base.dtypes import FLOATING, name_of, numpy_dtype
from fluidcore.gradcheck.target.random_numbers import stream

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = "Array | list[Array]"
Shape: TypeAlias = "tuple[int, ...]"


@dataclass(frozen=True, eq=False)
class OpExample:
    """An operator at a point where its gradient can be checked.

    Attributes:
        type: Of the operator.
        inputs: Slot -> array, or list of arrays. One array in two places is one variable.
        attrs: Attributes away from their defaults.
        to_check: Input slots that are differentiated by; None: all floating ones.
        outputs: Output slot -> number of variables, for slots that are lists.
        note: What is special.
        is_flat: Whether the gradient operators lose all digits here, so that nothing is left to be
            differentiated.
    """

    type: str
    inputs: Mapping[str, Value]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    to_check: tuple[str, ...] | None = None
    outputs: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    is_flat: bool = False

    def slots_to_check(self) -> tuple[str, ...]:
        """The input slots that are differentiated by."""
        if self.to_check is not None:
            return self.to_check
        return tuple(
            slot
            for slot, value in self.inputs.items()
            if any(name_of(a.dtype) in FLOATING for a in as_list(value))
        )

    def __str__(self) -> str:
        slots = [
            f"{slot}{''.join(str(list(a.shape)) for a in as_list(value))}"
            for slot, value in self.inputs.items()
        ]
        attrs = [f"{name}={value}" for name, value in self.attrs.items()]
        return " ".join(filter(None, [self.type, *slots, *attrs, self.note]))


def as_list(value: Value) -> list[Array]:
    """The arrays of a slot."""
    return value if isinstance(value, list) else [value]


class Data:
    """Random numbers of one element type, the same for the same seed and name."""

    def __init__(self, seed: int, name: str, dtype: str) -> None:
        self._rng = stream(seed, name, "data")
        self.dtype = dtype

    def extent(self, least: int = 1, most: int = 5) -> int:
        """A size."""
        return int(self._rng.integers(least, most + 1))

    def extents(self, rank: int, least: int = 1, most: int = 5) -> Shape:
        """A shape."""
        return tuple(self.extent(least, most) for _ in range(rank))

    def shapes(self) -> Iterator[Shape]:
        """Matrix, rank 0, one element, longer than a vector register, rank 3, empty."""
        yield from (self.extents(2, 2), (), (1,), (2 * self.extent(8, 16) + 1,))
        yield from (self.extents(3), (0, 3))

    def cast(self, values: Array) -> Array:
        """`values`, rounded to the element type."""
        return np.asarray(values).astype(numpy_dtype(self.dtype))

    def normal(self, *shape: int, scale: float = 1.0, mean: float = 0.0) -> Array:
        """Normal numbers.

        One alone is between 1/4 and 1 or between -1 and -1/4: there is no greater gradient beside
        it to measure its own by, so that must not vanish, as that of tanh does at 5.
        """
        x = self._rng.standard_normal(shape)
        if x.size == 1:
            x = np.copysign(1 - 0.75 * np.exp(-np.abs(x)), x)
        return self.cast(mean + scale * x)

    def uniform(self, low: float, high: float, *shape: int) -> Array:
        """Numbers in [low, high)."""
        return self.cast(self._rng.uniform(low, high, shape))

    def away_from_zero(self, *shape: int) -> Array:
        """Numbers of both signs, at least 0.25 from 0."""
        x = self._rng.standard_normal(shape)
        return self.cast(x + np.copysign(0.25, x))

    def positive(self, *shape: int) -> Array:
        """Numbers in [0.5, 2.5)."""
        return self.uniform(0.5, 2.5, *shape)

    def magnitudes(self, *shape: int) -> Array:
        """Positive numbers of very different sizes, 1/64 to 64."""
        return self.cast(np.exp2(self._rng.uniform(-6, 6, shape)))

    def distinct(self, *shape: int, offset: float = 0.0) -> Array:
        """Numbers at least 1/8 apart, for maxima; with `offset` 1/16 between those without."""
        size = int(np.prod(shape, dtype=np.int64))
        order = self._rng.permutation(size) - size // 2
        return self.cast((order / 8 + offset).reshape(shape))

    def integers(self, low: int, high: int, *shape: int) -> NDArray[np.int64]:
        """Whole numbers in [low, high)."""
        return self._rng.integers(low, high, shape, dtype=np.int64)

    def truths(self, *shape: int) -> NDArray[np.bool_]:
        """True and False."""
        return self._rng.random(shape) < 0.5

    def probabilities(self, *shape: int) -> Array:
        """Rows that add up to 1, no element near 0."""
        x = self._rng.uniform(0.5, 2.5, shape)
        return self.cast(x / x.sum(axis=-1, keepdims=True))

    def permutation(self, rank: int) -> list[int]:
        """The numbers from 0 to rank - 1 in another order."""
        return [int(i) for i in self._rng.permutation(rank)]

    def choice(self, options: Sequence[Any]) -> Any:
        """One of `options`."""
        return options[int(self._rng.integers(len(options)))]
