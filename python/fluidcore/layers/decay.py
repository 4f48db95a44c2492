"""Learning rates that fall from run to run, as operators of the program.

Each is [1], float32: what an optimizer takes as its learning_rate. An argument that is no number is
a TypeError, one out of range a ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fluidcore import core
from fluidcore.base.checks import check_list, check_not_negative, check_number, check_positive
from fluidcore.layers.helper import LayerHelper, atomic
from fluidcore.layers.schedule import as_rate, current_step
from fluidcore.layers.tensor import assign, cast
from fluidcore.program import Variable


def _decays_done(
    schedule: str, decay_steps: float, staircase: bool, global_step: Variable | None
) -> Variable:
    share = current_step(schedule, global_step) / decay_steps
    return LayerHelper("staircase").append("floor", {"X": share}) if staircase else share


@atomic
def exponential_decay(
    learning_rate: float,
    decay_steps: float,
    decay_rate: float,
    staircase: bool = False,
    *,
    global_step: Variable | None = None,
) -> Variable:
    """learning_rate * decay_rate ** (step / decay_steps), with step 0 in the first run.

    Args:
        learning_rate: Of the first run.
        decay_steps: After how many runs the rate is multiplied by decay_rate; above 0.
        decay_rate: The factor; at least 0.
        staircase: Whether step / decay_steps is rounded down, so that the rate falls at once.
        global_step: Counts the runs, [1], in the place of `step_counter`; the caller increments it.

    Returns:
        [1], float32; what an optimizer takes as its learning_rate.

    Raises:
        TypeError: An argument is no number; or global_step is no Variable.
        ValueError: A number is out of range.
    """
    rate = check_number("exponential_decay: learning_rate", learning_rate)
    steps = check_positive("exponential_decay: decay_steps", decay_steps)
    factor = check_not_negative("exponential_decay: decay_rate", decay_rate)
    done = _decays_done("exponential_decay", steps, staircase, global_step)
    return as_rate("exponential_decay", factor**done * rate)


@atomic
def natural_exp_decay(
    learning_rate: float,
    decay_steps: float,
    decay_rate: float,
    staircase: bool = False,
    *,
    global_step: Variable | None = None,
) -> Variable:
    """learning_rate * exp(-decay_rate * step / decay_steps), with step 0 in the first run.

    Args:
        learning_rate: Of the first run.
        decay_steps: The runs of one decay; above 0.
        decay_rate: By how much the exponent falls in one decay.
        staircase: Whether step / decay_steps is rounded down, so that the rate falls at once.
        global_step: Counts the runs, [1], in the place of `step_counter`; the caller increments it.

    Returns and errors are those of exponential_decay.
    """
    rate = check_number("natural_exp_decay: learning_rate", learning_rate)
    steps = check_positive("natural_exp_decay: decay_steps", decay_steps)
    fall = check_number("natural_exp_decay: decay_rate", decay_rate)
    exponent = _decays_done("natural_exp_decay", steps, staircase, global_step) * -fall
    power = LayerHelper("natural_exp_decay").append("exp", {"X": exponent})
    return as_rate("natural_exp_decay", power * rate)


@atomic
def inverse_time_decay(
    learning_rate: float,
    decay_steps: float,
    decay_rate: float,
    staircase: bool = False,
    *,
    global_step: Variable | None = None,
) -> Variable:
    """learning_rate / (1 + decay_rate * step / decay_steps), with step 0 in the first run.

    Args:
        learning_rate: Of the first run.
        decay_steps: The runs of one decay; above 0.
        decay_rate: By how much the divisor grows in one decay; at least 0.
        staircase: Whether step / decay_steps is rounded down, so that the rate falls at once.
        global_step: Counts the runs, [1], in the place of `step_counter`; the caller increments it.

    Returns and errors are those of exponential_decay.
    """
    rate = check_number("inverse_time_decay: learning_rate", learning_rate)
    steps = check_positive("inverse_time_decay: decay_steps", decay_steps)
    growth = check_not_negative("inverse_time_decay: decay_rate", decay_rate)
    divisor = _decays_done("inverse_time_decay", steps, staircase, global_step) * growth + 1.0
    return as_rate("inverse_time_decay", rate / divisor)


@atomic
def polynomial_decay(
    learning_rate: float,
    decay_steps: float,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
    *,
    global_step: Variable | None = None,
) -> Variable:
    """From learning_rate to end_learning_rate along a power of the runs that are left.

    (learning_rate - end_learning_rate) * (1 - step / decay_steps) ** power + end_learning_rate,
    with step 0 in the first run.

    Args:
        learning_rate: Of the first run.
        decay_steps: When the end is reached; above 0.
        end_learning_rate: The end.
        power: The exponent, at least 0; 1 for a straight line.
        cycle: False keeps the rate at the end; True lets it rise when the end is reached, and fall
            to the end again at the next multiple of decay_steps, which then stands for decay_steps.
        global_step: Counts the runs, [1], in the place of `step_counter`; the caller increments it.

    Returns and errors are those of exponential_decay.
    """
    start = check_number("polynomial_decay: learning_rate", learning_rate)
    steps = check_positive("polynomial_decay: decay_steps", decay_steps)
    end = check_number("polynomial_decay: end_learning_rate", end_learning_rate)
    exponent = check_not_negative("polynomial_decay: power", power)
    share = current_step("polynomial_decay", global_step) / steps
    if cycle:
        decays = LayerHelper("cycle").append("ceil", {"X": share})
        share = share / decays.clip(min=1.0)  # the first run is in the first decay
    else:
        share = share.clip(max=1.0)
    return as_rate("polynomial_decay", (1.0 - share) ** exponent * (start - end) + end)


@atomic
def piecewise_decay(
    boundaries: Sequence[float],
    values: Sequence[float],
    *,
    global_step: Variable | None = None,
) -> Variable:
    """values[0] before boundaries[0], values[1] before boundaries[1], ..., then the last value.

    Args:
        boundaries: The runs, counted from 0, from which on the next value holds; increasing.
        values: The rates, one more than there are boundaries.
        global_step: Counts the runs, [1], in the place of `step_counter`; the caller increments it.

    Returns:
        As exponential_decay.

    Raises:
        TypeError: An argument is no list of numbers; or global_step is no Variable.
        core.InvalidArgument: The boundaries do not increase, or there are not as many values.

    Example:
        rate = layers.piecewise_decay([1000, 2000], [0.1, 0.01, 0.001])
    """
    limits = _numbers("boundaries", boundaries)
    rates = _numbers("values", values)
    if not all(a < b for a, b in pairwise(limits)):
        raise core.InvalidArgument(
            f"piecewise_decay: boundaries must increase, got {list(boundaries)}"
        )
    if len(rates) != len(limits) + 1:
        raise core.InvalidArgument(
            "piecewise_decay: there must be one value more than boundaries, got "
            f"{len(rates)} values, {len(limits)} boundaries"
        )
    table = assign(np.array(rates))
    if not limits:
        return as_rate("piecewise_decay", table)
    step = current_step("piecewise_decay", global_step)
    passed = cast(assign(np.array(limits)) <= step, "int64")
    held = {"X": table, "Index": passed.sum(keepdims=True)}
    return as_rate("piecewise_decay", LayerHelper("piecewise_decay").append("gather", held))


def _numbers(argument: str, items: object) -> list[float]:
    what = f"piecewise_decay: {argument}"
    given = check_list(what, items)
    return [check_number(f"{what}[{i}]", item) for i, item in enumerate(given)]
