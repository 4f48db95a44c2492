"""What step sizes along a direction say about a gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fluidcore.gradcheck.report.data import Level

_ABOVE_NOISE = 10.0
_FEWEST = 3


class Slope(NamedTuple):
    """The power of the step with which the Taylor remainder falls.

    Attributes:
        power: 2 where the gradient is right, 1 where it is wrong.
        first: Index of the first level that was used.
        last: Index of the last one.
    """

    power: float
    first: int
    last: int


def usable(levels: Sequence[Level]) -> list[Level]:
    """Those whose numbers are finite, the largest step first."""
    finite = [
        level
        for level in levels
        if level.step > 0 and all(math.isfinite(number) for number in level)
    ]
    return sorted(finite, key=lambda level: -level.step)


def taylor_slope(levels: Sequence[Level]) -> Slope | None:
    """The slope of log remainder over log step, over the longest run of levels above the noise.

    Args:
        levels: As `usable` returns them.

    Returns:
        None if fewer than three levels in a row are above the noise.
    """
    best = range(0)
    start = 0
    for i in range(len(levels) + 1):
        if i < len(levels) and _is_above_noise(levels[i]):
            continue
        if i - start > len(best):
            best = range(start, i)
        start = i + 1
    if len(best) < _FEWEST:
        return None
    points = [(math.log(levels[i].step), math.log(levels[i].remainder)) for i in best]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread == 0:
        return None
    power = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return Slope(power, best[0], best[-1])


def _is_above_noise(level: Level) -> bool:
    return level.remainder > _ABOVE_NOISE * level.noise * level.step
