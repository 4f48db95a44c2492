"""The C++ objects under their Fluid names."""

from fluidcore._core import (
    EMPTY_VAR_NAME,
    GRAD_VAR_SUFFIX,
    BlockDesc,
    BlockIndex,
    CallableFunction,
    CallableGradient,
    CPUPlace,
    CUDAPlace,
    Derivatives,
    Directional,
    EffectsOfBlocks,
    ElementCheck,
    Error,
    Executor,
    Formula,
    Function,
    Gradient,
    InvalidArgument,
    Judgement,
    KernelCheck,
    KernelTest,
    NoiseLevel,
    NotFound,
    OpDef,
    OpDesc,
    OutOfTime,
    Profile,
    ProgramDesc,
    ProgramFunction,
    Proof,
    Repetition,
    Rules,
    Scope,
    SelectedRows,
    Tensor,
    TimedOut,
    TimeLimit,
    VarDesc,
    Variable,
    blind_spot,
    check_directions,
    check_infinite,
    cpu_isa,
    deviation,
    difference,
    differentiate,
    differentiate_along,
    dtype_name,
    dtype_number,
    error_statistics,
    get_grad_op_desc,
    grad_var_name,
    judge,
    may_be_infinite,
    measure_noise,
    narrowed_to,
    needed_ops,
    noise_floor,
    onednn_version,
    op_def,
    op_types,
    prove_jointly,
    round_direction,
    round_to,
    same_bits,
    slope_along,
    unit_roundoff,
    version,
)
from fluidcore._fluid_members import add_members
from fluidcore._var_type import AttrType, VarType, attr_type

LoDTensor = Tensor  # of no levels: there are no nested sequences
EnforceNotMet = Error  # Fluid's name
VarDesc.VarType = VarType  # type: ignore[attr-defined]
DataType = VarType  # as Fluid's first versions called the element types among them
add_members()


def get_cuda_device_count() -> int:
    """The number of GPUs that can be used: none in this build."""
    return 0


def is_compiled_with_cuda() -> bool:
    """Whether CUDAPlace can be used: not in this build."""
    return False


def op_support_gpu(op_type: str) -> bool:
    """Whether an operator runs on GPUs: none does in this build.

    Raises:
        NotFound: There is no such operator.
    """
    op_def(op_type)
    return False


__all__ = [
    "AttrType",
    "DataType",
    "EnforceNotMet",
    "LoDTensor",
    "get_cuda_device_count",
    "is_compiled_with_cuda",
    "op_support_gpu",
    "EMPTY_VAR_NAME",
    "attr_type",
    "GRAD_VAR_SUFFIX",
    "BlockDesc",
    "BlockIndex",
    "CPUPlace",
    "CUDAPlace",
    "CallableFunction",
    "CallableGradient",
    "Derivatives",
    "Directional",
    "ElementCheck",
    "EffectsOfBlocks",
    "Error",
    "Executor",
    "Formula",
    "Function",
    "Gradient",
    "InvalidArgument",
    "NoiseLevel",
    "NotFound",
    "OpDef",
    "OpDesc",
    "OutOfTime",
    "Profile",
    "ProgramDesc",
    "ProgramFunction",
    "Proof",
    "Scope",
    "SelectedRows",
    "Tensor",
    "TimeLimit",
    "TimedOut",
    "VarDesc",
    "Variable",
    "cpu_isa",
    "deviation",
    "difference",
    "differentiate",
    "differentiate_along",
    "dtype_name",
    "dtype_number",
    "error_statistics",
    "get_grad_op_desc",
    "grad_var_name",
    "may_be_infinite",
    "measure_noise",
    "narrowed_to",
    "needed_ops",
    "noise_floor",
    "onednn_version",
    "op_def",
    "op_types",
    "prove_jointly",
    "round_direction",
    "round_to",
    "same_bits",
    "slope_along",
    "unit_roundoff",
    "version",
    "Judgement",
    "KernelCheck",
    "KernelTest",
    "Repetition",
    "Rules",
    "blind_spot",
    "check_directions",
    "check_infinite",
    "judge",
]
