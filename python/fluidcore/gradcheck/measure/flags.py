"""Why an element has no derivative that can be relied on."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.uint8]
Indices: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

KINK, JUMP = 1, 2


def has_kink(flags: Flags) -> Mask:
    """Where the flags tell of a kink or a jump."""
    kink: Mask = (flags & (KINK | JUMP)) != 0
    return kink
