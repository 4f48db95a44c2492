"""Keeps small gradients from becoming 0 in float16."""

from __future__ import annotations

from typing import NamedTuple

from fluidcore import layers
from fluidcore.base.checks import check_number, is_whole
from fluidcore.initializer import Constant
from fluidcore.layers.helper import initialize
from fluidcore.program import Block, Program, Variable


class DynamicLossScaling(NamedTuple):
    """Multiplies the loss before backward, and divides the gradients after it.

    A step whose gradients are not all finite changes no parameter, and makes the factor smaller;
    many good steps in a row make it larger (Micikevicius et al. 2018).

    Attributes:
        init: The first factor.
        growth: Multiplies it after `growth_interval` good steps in a row; 1 for never.
        growth_interval: How many steps.
        backoff: Multiplies it after a step that was left out; it never falls below 1.
    """

    init: float = 2.0**15
    growth: float = 2.0
    growth_interval: int = 1000
    backoff: float = 0.5

    def check(self) -> None:
        """Raises TypeError or ValueError for what is no such number."""
        for name, low, high in (("init", 1.0, None), ("growth", 1.0, None), ("backoff", 0.0, 1.0)):
            value = check_number(f"amp: loss scaling: {name}", getattr(self, name))
            if value < low or (high is not None and not low < value <= high):
                wanted = f"at least {low}" if high is None else f"in ({low}, {high}]"
                raise ValueError(f"amp: loss scaling: {name} must be {wanted}, got {value}")
        if not is_whole(self.growth_interval) or self.growth_interval < 1:
            raise ValueError(
                "amp: loss scaling: growth_interval must be a whole number of at least 1, got "
                f"{self.growth_interval!r}"
            )


class ScaleState(NamedTuple):
    """What a program keeps of its loss scaling between runs: float32 [1] each."""

    scale: Variable
    good_steps: Variable

    @classmethod
    def create(cls, scaling: DynamicLossScaling, block: Block, startup: Program) -> ScaleState:
        """New variables of the outermost block, which the startup program initializes."""
        values = {"loss_scaling": scaling.init, "good_steps": 0.0}
        made = []
        for key, value in values.items():
            name = block.unique_name(key)
            made.append(
                block.create_var(
                    name, shape=[1], dtype="float32", persistable=True, stop_gradient=True
                )
            )
            initialize(startup, made[-1], Constant(value))
        return cls(*made)

    def append_update(self, scaling: DynamicLossScaling, is_good: Variable) -> None:
        """Appends what changes the factor after a step.

        Args:
            scaling: By how much.
            is_good: Whether all gradients were finite; bool [1].
        """
        zero = layers.fill_constant([1], "float32", 0.0)
        counted = layers.where(is_good, self.good_steps + 1.0, zero)
        many = layers.fill_constant([1], "float32", float(scaling.growth_interval))
        grows = layers.greater_equal(counted, many)
        one = layers.fill_constant([1], "float32", 1.0)
        smaller = layers.elementwise_max(self.scale * scaling.backoff, one)
        largest = layers.fill_constant([1], "float32", 2.0**126)
        larger = layers.elementwise_min(self.scale * scaling.growth, largest)
        kept = layers.where(grows, larger, self.scale)
        layers.assign(layers.where(is_good, kept, smaller), output=self.scale)
        layers.assign(layers.where(grows, zero, counted), output=self.good_steps)
