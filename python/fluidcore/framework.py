"""The names of Fluid's module `framework`, most of which are those of `fluidcore`."""

from fluidcore.program import (
    Block,
    Operator,
    Parameter,
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    grad_var_name,
    program_guard,
    switch_main_program,
    switch_startup_program,
)

__all__ = [
    "Block",
    "Operator",
    "Parameter",
    "Program",
    "Variable",
    "default_main_program",
    "default_startup_program",
    "grad_var_name",
    "program_guard",
    "switch_main_program",
    "switch_startup_program",
]
