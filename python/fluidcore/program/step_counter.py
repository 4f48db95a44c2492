"""The variable of a program that counts its runs, in the outermost block."""

from __future__ import annotations

from fluidcore import core

# Starts its name. What follows differs between the programs of a process, so that two that share a
# Scope count each their own runs; a copy of a program keeps the name.
STEP_COUNTER = "@STEP_COUNTER@"


def find_step_counter(block: core.BlockDesc) -> str | None:
    """The name of the counter; None if there is none."""
    names = (desc.name() for desc in block.all_vars())
    return next(filter(_is_step_counter, names), None)


def stop_counting(block: core.BlockDesc) -> None:
    """Removes the operators that count a run."""
    for position in reversed(range(block.op_size())):
        if any(map(_is_step_counter, block.op(position).output_arg_names())):
            block.remove_op(position, position + 1)


def _is_step_counter(name: str) -> bool:
    return name.startswith(STEP_COUNTER)
