"""The verdict on each element of a gradient, from error bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.gradcheck.target.target import Doubles
from fluidcore.gradcheck.verdict import Reason, Verdict

Flags: TypeAlias = NDArray[np.uint8]
Indices: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

KINK, JUMP, DOMAIN, ABSORBED = 1, 2, 4, 8
SUBGRADIENT, SUSPECT, LATE = 16, 32, 64


class Reference:
    """Numerical derivatives: of r cotangents by n elements. They are the engine's, not copies."""

    def __init__(
        self,
        value: Doubles,
        error: Doubles,
        low: Doubles,
        high: Doubles,
        scale: Doubles,
        flags: Flags,
    ) -> None:
        """See the properties."""
        self.native = core.Derivatives(value, error, low, high, scale, flags)

    @classmethod
    def of(cls, found: core.Derivatives) -> Reference:
        """What the engine found."""
        reference = cls.__new__(cls)
        reference.native = found
        return reference.unknown_at((reference.flags & (JUMP | DOMAIN | LATE)) != 0)

    @classmethod
    def exact(cls, value: Doubles, scale: Doubles) -> Reference:
        """Values that need no error bars, [r, n]."""
        none = np.zeros(value.shape[1], dtype=np.uint8)
        return cls(value, np.zeros_like(value), value, value, scale, none)

    @classmethod
    def joined(cls, parts: Sequence[Reference]) -> Reference:
        """Of the elements of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        value, error, low, high, scale = (
            np.concatenate([part.numbers[j] for part in parts], axis=1) for j in range(5)
        )
        flags = np.concatenate([part.flags for part in parts])
        return cls(value, error, low, high, scale, flags)

    @property
    def value(self) -> Doubles:
        """[r, n]."""
        return self.native.value

    @property
    def error(self) -> Doubles:
        """[r, n], error bars; inf where there is no derivative."""
        return self.native.error

    @property
    def low(self) -> Doubles:
        """[r, n], the least one-sided derivative; `value` where f is smooth."""
        return self.native.low

    @property
    def high(self) -> Doubles:
        """[r, n], the greatest."""
        return self.native.high

    @property
    def scale(self) -> Doubles:
        """[r, n], the sum of the absolute values of all terms of the derivative."""
        return self.native.scale

    @property
    def flags(self) -> Flags:
        """[n], KINK, JUMP, DOMAIN, ABSORBED, SUBGRADIENT, LATE."""
        return self.native.flags

    @property
    def numbers(self) -> tuple[Doubles, ...]:
        """`value` to `scale`."""
        return self.value, self.error, self.low, self.high, self.scale

    @property
    def measure(self) -> Doubles:
        """[r, n]: what errors of each element are compared with."""
        return self.native.measure()

    @property
    def padded_scale(self) -> Doubles:
        """[r, n]: the scale, at least 1 % of the greatest."""
        return self.native.padded_scale()

    def only(self, i: int) -> Reference:
        """Of one element."""
        value, error, low, high, scale = (part[:, i : i + 1] for part in self.numbers)
        return Reference(value, error, low, high, scale, self.flags[i : i + 1])

    def replaced(
        self,
        *,
        error: Doubles | None = None,
        scale: Doubles | None = None,
        flags: Flags | None = None,
    ) -> Reference:
        """The same with other numbers."""
        error = self.error if error is None else error
        scale = self.scale if scale is None else scale
        flags = self.flags if flags is None else flags
        return Reference(self.value, error, self.low, self.high, scale, flags)

    def flagged(self, where: Mask, flag: int) -> Reference:
        """The same with a flag at some places, [n]."""
        flags = self.flags | np.where(where, flag, 0).astype(np.uint8)
        return self.replaced(flags=flags) if where.any() else self

    def unknown_at(self, where: Mask, flag: int = 0) -> Reference:
        """The same with endless error bars, and a flag, at some places, [n] or [r, n]."""
        if not where.any():
            return self
        columns = np.asarray(where.reshape(-1, self.flags.size).any(0))
        return self.flagged(columns, flag).replaced(error=np.where(where, np.inf, self.error))


@dataclass(frozen=True)
class Judgement:
    """The verdict on each element, [r, n], and what it rests on; the core says which it is.

    Attributes:
        native: What the core has found.
        reference: The numerical derivatives.
        tolerance: [r, n], added to the error bars.
    """

    native: core.Judgement
    reference: Reference
    tolerance: Doubles

    @property
    def analytical(self) -> Doubles:
        """The claimed derivatives."""
        return self.native.analytical

    @property
    def nearest(self) -> Doubles:
        """The right values that are nearest to them."""
        return self.native.nearest

    @property
    def limit(self) -> Doubles:
        """The greatest distance that is right."""
        return self.native.limit

    @property
    def wrong(self) -> Mask:
        """Where it is exceeded."""
        return self.native.wrong

    @property
    def unsure(self) -> Mask:
        """Where nothing can be said."""
        return self.native.unsure

    @property
    def counted(self) -> Mask:
        """[n], the elements that are judged at all."""
        return self.native.counted

    @property
    def resolution(self) -> Doubles:
        """The relative error that would have been seen."""
        return self.native.resolution

    @property
    def measure(self) -> Doubles:
        """What errors are compared with."""
        return self.native.measure

    @property
    def at_kink(self) -> Mask:
        """[n]: where f has no derivative, only one-sided ones."""
        return has_kink(self.reference.flags)

    @property
    def excess(self) -> Doubles:
        """By how many limits the claimed value is off."""
        with np.errstate(all="ignore"):
            ratio = self.analytical - self.nearest
            np.abs(ratio, out=ratio)
            ratio /= self.limit + 1e-300
        return np.nan_to_num(ratio, copy=False, nan=0.0)

    @property
    def worst(self) -> tuple[Indices, Doubles]:
        """[n]: the cotangent by which each element is off the most, a wrong one first, and that."""
        excess = self.excess
        rank = excess + 1
        with np.errstate(invalid="ignore"):
            np.divide(excess, rank, out=rank)
        rank -= 1
        np.copyto(rank, excess, where=self.wrong)
        row = np.argmax(rank, axis=0)
        del rank
        return row, excess[row, np.arange(row.size)]

    @property
    def is_proven(self) -> bool:
        """Whether no element is wrong or unsure."""
        return not (self.wrong.any() or self.unsure.any())

    @cached_property
    def verdict(self) -> Verdict:
        """FAIL if an element is wrong; PASS if all are proven, but for what may stay open."""
        return Verdict(self.native.verdict)

    @cached_property
    def open(self) -> Mask:
        """[n]: of which elements more is unsure than may stay open, by all cotangents together."""
        return self.native.open()

    def opened(self, where: Mask, *, flag: int = 0, limit: Doubles | None = None) -> Judgement:
        """The same with nothing wrong at some places, [r, n], only open: flagged, with a limit."""
        reference = self.reference.flagged(np.asarray(where.any(0)), flag)
        limit = None if limit is None else np.where(where, limit, self.limit)
        native = self.native.settled(
            self.wrong & ~where, self.unsure | where, reference.flags, limit
        )
        return replace(self, native=native, reference=reference)

    def accepted(self, limit: Doubles) -> Judgement:
        """The same with everything right, as it is within `limit`, [r, n] or [r, 1]."""
        nothing = np.zeros_like(self.wrong)
        limit = np.broadcast_to(limit, nothing.shape)
        native = self.native.settled(nothing, nothing, self.reference.flags, limit)
        return replace(self, native=native)

    def of_element(self, i: int) -> Verdict:
        """Of one element, by all cotangents together."""
        if self.wrong[:, i].any():
            return Verdict.FAIL
        return Verdict.INCONCLUSIVE if self.open[i] else Verdict.PASS

    def doubts(self) -> tuple[Reason, ...]:
        """Why elements cannot be judged, the most frequent reason first."""
        return tuple(map(Reason, self.native.doubts(self.reference.flags)))


def judge(
    reference: Reference, analytical: Doubles, tolerance: Doubles, rules: core.Rules
) -> Judgement:
    """Compares derivatives with what is claimed.

    Args:
        reference: The numerical derivatives.
        analytical: [r, n], finite where it matters.
        tolerance: [r, n], added to the error bars.
        rules: When a difference is an error.
    """
    found = core.judge(reference.native, analytical, tolerance, rules)
    return Judgement(found, reference, tolerance)


def has_kink(flags: Flags) -> Mask:
    """Where the flags tell of a kink or a jump."""
    kink: Mask = (flags & (KINK | JUMP)) != 0
    return kink
