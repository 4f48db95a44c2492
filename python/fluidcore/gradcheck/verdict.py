"""What a check can say."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Verdict(Enum):
    """PASS is proven, FAIL is refuted, INCONCLUSIVE could not be decided; only PASS is true."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"

    def __bool__(self) -> bool:
        return self is Verdict.PASS

    @classmethod
    def together(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """FAIL if any is, else INCONCLUSIVE if any is or there are none, else PASS."""
        seen = set(verdicts)
        if cls.FAIL in seen:
            return cls.FAIL
        return cls.PASS if seen == {cls.PASS} else cls.INCONCLUSIVE


class Reason(Enum):
    """Why a gradient is wrong, or cannot be judged; the values are the names in reports."""

    # FAIL
    MISMATCH = "grad-mismatch"  # the formula: float64 against the numerical derivative
    KERNEL = "kernel-mismatch"  # the kernel: the dtype under test against float64
    NARROWED = "narrowed"  # rounded through a narrower dtype
    NON_FINITE = "non-finite"
    NOT_LINEAR = "not-linear"  # in its cotangent
    COTANGENT = "cotangent-form"  # another one for the same cotangent, stored in another way
    NOT_REPEATABLE = "not-repeatable"  # other bits in a second run
    WRONG_SHAPE = "wrong-shape"
    WRONG_DTYPE = "wrong-dtype"
    INPUT_CHANGED = "input-changed"
    TOLERANCE = "tolerance"  # a tolerance of the user's is exceeded
    # a fault of a program
    FANOUT_SUM = "fanout-sum"
    MISSING_ZERO = "missing-zero"
    STALE = "stale-tensor"
    CLIP = "error-clip"
    MISSING = "missing-gradient"
    # INCONCLUSIVE
    NOISE = "noise"
    KINK = "kink"
    JUMP = "jump"
    DOMAIN = "domain"
    ABSORPTION = "absorption"
    STOCHASTIC = "stochastic"
    NO_SECOND = "no-second-gradient"
    NO_ELEMENTS = "no-elements"
    BUDGET = "budget"
    # a warning: PASS
    PRECISION_LOSS = "precision-loss"
