"""Changes of a program that an error undoes, and what they start from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from fluidcore import core
from fluidcore.program import Parameter, Program, Variable, default_startup_program, program_guard
from fluidcore.program.mark import ContentsMark


@contextmanager
def changing(
    loss: Variable, startup_program: Program | None, every_slot: bool = False
) -> Iterator[Program]:
    """Layers inside the `with` append to the program of the loss; after an error all is as before.

    Gives the startup program; None stands for the default one.

    Args:
        loss: A variable of the program.
        startup_program: The startup program.
        every_slot: As for ContentsMark.

    Raises:
        TypeError: An argument is of another type.
    """
    startup = default_startup_program() if startup_program is None else startup_program
    if not isinstance(startup, Program):
        raise TypeError(f"minimize: startup_program must be a Program, got {startup!r}")
    if not isinstance(loss, Variable):
        raise TypeError(f"minimize: loss must be a Variable, got {type(loss).__name__}")
    mark, startup_mark = ContentsMark(loss.block.program, every_slot), startup.global_block().mark()
    try:
        with program_guard(loss.block.program, startup):
            yield startup
    except BaseException:
        mark.rollback()
        startup_mark.rollback()
        raise


def some_gradient(params_grads: Iterable[tuple[Parameter, Variable | None]]) -> Variable:
    """The first gradient; core.InvalidArgument if no parameter has one."""
    pairs = list(params_grads)
    for _, grad in pairs:
        if grad is not None:
            return grad
    raise core.InvalidArgument(
        "apply_gradients: a parameter must have a gradient, got none of "
        f"{[param.name for param, _ in pairs]}"
    )
