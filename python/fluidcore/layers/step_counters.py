"""Variables that count the runs of a program."""

from __future__ import annotations

from fluidcore import core
from fluidcore.base.checks import check_whole
from fluidcore.initializer import Constant
from fluidcore.layers.helper import LayerHelper, atomic, initialize
from fluidcore.program import Variable
from fluidcore.program.step_counter import STEP_COUNTER


@atomic
def autoincreased_step_counter(
    counter_name: str | None = None, begin: int = 1, step: int = 1
) -> Variable:
    """A variable that each run makes larger: `begin` in the first one, `step` more in each other.

    The schedules of learning rates have a counter of their own, `learning_rate_decay.step_counter`,
    which runs of `clone(for_test=True)` leave alone; this one counts them too.

    Args:
        counter_name: Its name; a second call with the same name gives the same variable. None for
            "@RUN_COUNTER@".
        begin: In the first run.
        step: What each run adds.

    Returns:
        [1], int64, persistable; stops gradients.

    Raises:
        core.InvalidArgument: The name is that of the schedules' counter.
    """
    begin = check_whole("autoincreased_step_counter: begin", begin, -(2**53))
    step = check_whole("autoincreased_step_counter: step", step, -(2**53))
    helper = LayerHelper("global_step_counter")
    block = helper.main_program.global_block()
    name = "@RUN_COUNTER@" if counter_name is None else counter_name
    if name.startswith(STEP_COUNTER):
        raise core.InvalidArgument(
            f"autoincreased_step_counter: counter_name must not start with {STEP_COUNTER}, which "
            f"the schedules of learning rates count with, got {name!r}"
        )
    found = block.find_var(name)
    if found is not None:
        return found
    counter = block.create_var(name, shape=[1], dtype="int64", persistable=True, stop_gradient=True)
    initialize(helper.startup_program, counter, Constant(begin - step))
    block.prepend_op("increment", {"X": counter}, {"Out": counter}, {"step": float(step)})
    return counter
