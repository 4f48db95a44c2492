"""The program: nested blocks of operators and variables, and the default programs."""

from fluidcore.program.block import Block
from fluidcore.program.defaults import (
    default_main_program,
    default_startup_program,
    program_guard,
    switch_main_program,
    switch_startup_program,
)
from fluidcore.program.operator import Operator
from fluidcore.program.program import Program
from fluidcore.program.variable import Parameter, Variable, grad_var_name

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
