"""Fluid's program transformations for memory, which a program here does not need."""

from __future__ import annotations

from collections.abc import Iterable

from fluidcore.program import Program


def memory_optimize(
    input_program: Program,
    skip_opt_set: Iterable[str] | None = None,
    print_log: bool = False,
    level: int = 0,
) -> None:
    """Leaves the program as it is.

    In Fluid it renamed variables, so that several had one place. Here every plan places the
    variables of a run by when they are needed, and lets operators write in place; no program has to
    be changed for that. `checkpoints` of `minimize` saves more, by calculating again.

    Args:
        input_program: A Program; is checked.
        skip_opt_set: Accepted for Fluid's sake.
        print_log: Whether to print why nothing changes.
        level: Accepted for Fluid's sake.
    """
    del skip_opt_set, level
    if not isinstance(input_program, Program):
        raise TypeError(f"input_program must be a Program, got {type(input_program).__name__}")
    if print_log:
        print("memory_optimize: nothing to change; each plan reuses memory by itself")


def release_memory(input_program: Program, skip_opt_set: Iterable[str] | None = None) -> None:
    """Leaves the program as it is: variables that are not needed any more free their places."""
    memory_optimize(input_program, skip_opt_set)
