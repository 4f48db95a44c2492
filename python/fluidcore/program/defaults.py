"""The programs that layers append to when not told otherwise, of each thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fluidcore.program.program import Program

_DEFAULTS = (Program(), Program())
_programs: ContextVar[tuple[Program, Program]] = ContextVar("fluidcore_programs", default=_DEFAULTS)


def default_main_program() -> Program:
    """The program that layers append to."""
    return _programs.get()[0]


def default_startup_program() -> Program:
    """The program that initializes the parameters; run it once."""
    return _programs.get()[1]


def switch_main_program(program: Program) -> Program:
    """Makes another program the one that layers append to, in this thread; returns the former.

    `program_guard` does so for a `with` block.
    """
    return _switch(program, default_startup_program())[0]


def switch_startup_program(program: Program) -> Program:
    """Makes another program the one that initializes, in this thread; returns the former."""
    return _switch(default_main_program(), program)[1]


def _switch(main_program: Program, startup_program: Program) -> tuple[Program, Program]:
    for program in (main_program, startup_program):
        if not isinstance(program, Program):
            raise TypeError(f"program must be a Program, got {type(program).__name__}")
    former = _programs.get()
    _programs.set((main_program, startup_program))
    return former


@contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Makes other programs the default ones inside the `with` block, in this thread only.

    Args:
        main_program: What layers append to.
        startup_program: What initializes parameters; None keeps the present one.
    """
    for name, program in (("main_program", main_program), ("startup_program", startup_program)):
        if not isinstance(program, Program) and (program is not None or name == "main_program"):
            raise TypeError(f"{name} must be a Program, got {type(program).__name__}")
    token = _programs.set((main_program, startup_program or default_startup_program()))
    try:
        yield
    finally:
        _programs.reset(token)
