"""The rounding noise inside of f, measured along lines through the point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.gradcheck.target.target import Doubles


class NoiseLevel(NamedTuple):
    """What f's outputs are wrong by at least, [m]; None for rounding alone.

    Attributes:
        near: On the shortest lines that tell rounding from f itself.
        far: On a wide line; None where it is the same.
        evaluations: Of f.
    """

    near: Doubles | None = None
    far: Doubles | None = None
    evaluations: int = 0

    @property
    def widest(self) -> Doubles | None:
        """What a first measurement takes: what that proves holds however rough f is."""
        return self.near if self.far is None else self.far

    def at_least(self, noise: Doubles | None) -> NoiseLevel:
        """The larger of both, output by output."""
        if noise is None:
            return self
        near = noise if self.near is None else np.maximum(self.near, noise)
        far = None if self.far is None else np.maximum(self.far, noise)
        return NoiseLevel(near, far, self.evaluations)


def noise_level(function: core.Function, seed: int) -> NoiseLevel:
    """Three standard deviations, as the engine measures them; nothing in 16 bits."""
    near, far, evaluations = core.noise_floor(function, seed=seed)
    return NoiseLevel(near if near.size else None, far if far.size else None, evaluations)
