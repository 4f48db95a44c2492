"""Extents of 0 in `reshape`, which in Fluid stand for those of the input."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.base.checks import check_extents
from fluidcore.program import Variable


def with_copies(x: Variable, shape: Sequence[int]) -> list[int]:
    """The extents with those of x where they are 0; where x is known to be empty a 0 is an extent.

    Args:
        x: The input.
        shape: Extents; the 0 at position i stands for extent i of x.

    Raises:
        core.InvalidArgument: More than one extent would be unknown.
    """
    extents = check_extents("reshape: shape", shape)
    if 0 not in extents or 0 in x.shape:
        return extents
    known = dict(enumerate(x.shape))
    copied = [known.get(i, 0) if extent == 0 else extent for i, extent in enumerate(extents)]
    if copied.count(-1) > max(1, extents.count(-1)):
        raise core.InvalidArgument(
            f"reshape: at most one extent may be unknown, got shape {extents} for '{x.name}' of "
            f"shape {list(x.shape)}; feed the extents and give them as actual_shape"
        )
    return copied
