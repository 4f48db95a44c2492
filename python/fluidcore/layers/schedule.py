"""What learning-rate schedules are made of: the number of the run, and a rate made of it."""

from __future__ import annotations

import math

from fluidcore.initializer import Constant
from fluidcore.layers.helper import LayerHelper, atomic, check_variable, initialize
from fluidcore.program import Variable, default_main_program, default_startup_program
from fluidcore.program.step_counter import STEP_COUNTER, find_step_counter


@atomic
def step_counter() -> Variable:
    """The number of the run: 0 in the first one, 1 more in each that follows.

    A program has one, made by the first schedule, which all its schedules read. It is saved with
    the other persistables, so that a resumed training goes on where it stopped.
    `Program.clone(for_test=True)` reads it and does not count.

    Returns:
        [1], int64, persistable.
    """
    # Of the outermost block, where it counts whatever branch the schedule stands in.
    block = default_main_program().global_block()
    found = find_step_counter(block.desc)
    if found is not None:
        return block.var(found)
    counter = block.create_var(
        block.unique_name(STEP_COUNTER),
        shape=[1],
        dtype="int64",
        persistable=True,
        stop_gradient=True,
    )
    initialize(default_startup_program(), counter, Constant(-1))
    block.append_op("increment", {"X": counter}, {"Out": counter}, {"step": 1.0})
    return counter


def current_step(schedule: str = "", global_step: Variable | None = None) -> Variable:
    """The number of the run as float64 [1]: float32 counts to 2**24 only.

    Args:
        schedule: Names the schedule in errors.
        global_step: A variable [1] that counts in the place of step_counter.

    Raises:
        TypeError: It is no Variable.
    """
    if global_step is None:
        return step_counter().astype("float64")
    check_variable(schedule, "global_step", global_step)
    return global_step.astype("float64")


def as_rate(schedule: str, value: Variable) -> Variable:
    """A rate as optimizers take it, float32 [1], in a variable named after the schedule."""
    attrs = {"in_dtype": value.dtype, "out_dtype": "float32"}
    return LayerHelper(schedule).append("cast", {"X": value}, attrs)


def cosine_between(start: float, end: float, share: Variable) -> Variable:
    """Half a wave of the cosine, from `start` where share is 0 to `end` where it is 1."""
    wave = LayerHelper("cosine").append("cos", {"X": share * math.pi})
    return (wave + 1.0) * (0.5 * (start - end)) + end


def chosen(condition: Variable, x: Variable, y: Variable) -> Variable:
    """X where the condition holds, else y."""
    return LayerHelper("chosen").append("where", {"Condition": condition, "X": x, "Y": y})
