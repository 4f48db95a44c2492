"""The core's verdicts on elements, as tests look at them."""

from __future__ import annotations

from dataclasses import dataclass
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
    def of(cls, native: core.Derivatives) -> Reference:
        """What the engine found."""
        reference = cls.__new__(cls)
        reference.native = native
        return reference

    @classmethod
    def exact(cls, value: Doubles, scale: Doubles) -> Reference:
        """Values that need no error bars, [r, n]."""
        none = np.zeros(value.shape[1], dtype=np.uint8)
        return cls(value, np.zeros_like(value), value, value, scale, none)

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


@dataclass(frozen=True)
class Judgement:
    """The verdict on each element, [r, n], and what it rests on; the core says which it is.

    Attributes:
        native: What the core has found.
        reference: The numerical derivatives.
    """

    native: core.Judgement
    reference: Reference

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
            ratio = np.abs(self.analytical - self.nearest) / (self.limit + 1e-300)
        return np.nan_to_num(ratio, nan=0.0)

    @property
    def worst(self) -> tuple[Indices, Doubles]:
        """[n]: the cotangent by which each element is off the most, a wrong one first, and that."""
        return self.native.worst()

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
    return Judgement(found, reference)


def has_kink(flags: Flags) -> Mask:
    """Where the flags tell of a kink or a jump."""
    kink: Mask = (flags & (KINK | JUMP)) != 0
    return kink


@dataclass(frozen=True)
class Directional:
    """What directions tell."""

    native: core.Directional
    judgement: Judgement
    min_detectable_99: float
    failure: str | None
    culprits: tuple[tuple[int, Judgement], ...]


def directional(found: core.Directional) -> Directional:
    """The same, with verdicts as above."""
    return Directional(
        found,
        Judgement(found.judgement, Reference.of(found.reference)),
        found.min_detectable_99,
        found.reference.failure,
        tuple((i, Judgement(one, Reference.of(ref))) for i, ref, one in found.culprits),
    )
