"""The names of Fluid's module `framework`, most of which are those of `fluidcore`."""

from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_name
from fluidcore.base.op_protos import OpProtoHolder, get_all_op_protos
from fluidcore.core import EMPTY_VAR_NAME, GRAD_VAR_SUFFIX, VarDesc
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

# Which Fluid put into names; no name here holds them.
TEMP_VAR_NAME = "@TEMP@"
ZERO_VAR_SUFFIX = "@ZERO"

__all__ = [
    "EMPTY_VAR_NAME",
    "GRAD_VAR_SUFFIX",
    "TEMP_VAR_NAME",
    "ZERO_VAR_SUFFIX",
    "Block",
    "OpProtoHolder",
    "Operator",
    "Parameter",
    "Program",
    "Variable",
    "convert_np_dtype_to_dtype_",
    "default_main_program",
    "default_startup_program",
    "dtype_is_floating",
    "get_all_op_protos",
    "get_var",
    "grad_var_name",
    "program_guard",
    "switch_main_program",
    "switch_startup_program",
]


def convert_np_dtype_to_dtype_(np_dtype: DTypeLike) -> str:
    """The element type of a NumPy dtype, as a VarType where Fluid has it.

    Raises:
        core.InvalidArgument: There is no such element type here.
    """
    name = dtype_name(np_dtype)
    kinds = VarDesc.VarType  # type: ignore[attr-defined]
    return next((kind for kind in kinds if kind == name), name)


def get_var(name: str, program: Program | None = None) -> Variable:
    """The variable of the outermost block of a program, None for the default main program.

    Raises:
        core.NotFound: There is none of this name.
    """
    return (default_main_program() if program is None else program).global_block().var(name)


def dtype_is_floating(dtype: DTypeLike) -> bool:
    """Whether an element type is one of floating numbers."""
    return dtype_name(dtype) in FLOATING
