"""Mixed precision: a program whose products run in 16 bits, and whose parameters stay float32.

    adam = fluid.amp.decorate(fluid.optimizer.Adam(1e-3))
    adam.minimize(loss)

It is a transformation of the program, so that the result can be printed, saved and checked as any
other program: see cast_program.
"""

from fluidcore.amp.cast import cast_program
from fluidcore.amp.lists import IN_16_BITS, IN_FLOAT32, Lists
from fluidcore.amp.loss_scaling import DynamicLossScaling
from fluidcore.amp.optimizer import MixedPrecision, decorate

__all__ = [
    "IN_16_BITS",
    "IN_FLOAT32",
    "DynamicLossScaling",
    "Lists",
    "MixedPrecision",
    "cast_program",
    "decorate",
]
