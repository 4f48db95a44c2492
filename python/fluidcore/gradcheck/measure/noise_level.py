"""The rounding noise inside of f, measured along lines through the point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.target.target import Doubles

_DEVIATIONS = 3.0


class NoiseLevel(NamedTuple):
    """What f's outputs are wrong by at least, [m]; None for rounding alone.

    Attributes:
        near: On the shortest lines that tell rounding from f itself.
        far: On a wide line.
        evaluations: Of f.
    """

    near: Doubles | None = None
    far: Doubles | None = None
    evaluations: int = 0

    def at_least(self, noise: Doubles | None) -> NoiseLevel:
        """The larger of both, output by output."""
        if noise is None:
            return self
        near, far = (
            noise if level is None else np.maximum(level, noise) for level in (self.near, self.far)
        )
        return NoiseLevel(near, far, self.evaluations)


def noise_level(function: core.Function, seed: int) -> NoiseLevel:
    """Three standard deviations, of a float64 or float32 f: in 16 bits the lines are too long."""
    near, far, evaluations = core.measure_noise(function, seed=seed)
    least, most = (_DEVIATIONS * level if level.any() else None for level in (near, far))
    return NoiseLevel(least, most, evaluations)
