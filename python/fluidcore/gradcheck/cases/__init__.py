"""Inputs for every operator that has a gradient, and programs: where gradients are checked.

from fluidcore.gradcheck import cases

for example in cases.examples("conv2d", seed=0, dtype="float32"):
    print(example)
"""

from __future__ import annotations

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, DTypeLike, dtype_name
from fluidcore.gradcheck.cases import (
    activations,
    elementwise,
    images,
    indices,
    losses,
    matrices,
    norms,
    piecewise,
    products,
    reductions,
    rows,
    shapes,
    units,
)
from fluidcore.gradcheck.cases.control_flow import CONTROL_FLOW
from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Value
from fluidcore.gradcheck.cases.gradients import SUFFIX, gradient_examples
from fluidcore.gradcheck.cases.model import ProgramExample, example
from fluidcore.gradcheck.cases.networks import NETWORKS
from fluidcore.gradcheck.cases.table import Cases
from fluidcore.program.collective import is_collective

__all__ = [
    "DTYPES",
    "Array",
    "OpExample",
    "ProgramExample",
    "Value",
    "differentiable_types",
    "dtypes_of",
    "examples",
    "has_case",
    "is_control_flow",
    "program_example",
    "program_examples",
    "program_names",
]

_PROGRAMS = NETWORKS | CONTROL_FLOW
DTYPES = ("float64", "float32", "float16", "bfloat16")
_FAMILIES: dict[str, Cases] = {
    **activations.CASES,
    **elementwise.CASES,
    **images.CASES,
    **indices.CASES,
    **losses.CASES,
    **matrices.CASES,
    **norms.CASES,
    **piecewise.CASES,
    **products.CASES,
    **reductions.CASES,
    **rows.CASES,
    **shapes.CASES,
    **units.CASES,
}


def examples(op_type: str, seed: int = 0, dtype: DTypeLike = "float32") -> list[OpExample]:
    """Examples of an operator: several shapes and attributes, and data that depend on the seed.

    A gradient operator has the examples of its forward operator, at random incoming gradients.

    Args:
        op_type: An operator that has a gradient and is not control flow.
        seed: 0, 1, ...; the same seed gives the same examples.
        dtype: Of what is floating; the data are numbers of this type.

    Raises:
        core.NotFound: There is no such operator, or no example of it.
        core.InvalidArgument: The operator is not made for `dtype`.
    """
    dtype = dtype_name(dtype)
    if not has_case(op_type):
        raise core.NotFound(
            f"{op_type}: an operator must have a gradient and take and return tensors "
            "to have examples"
        )
    if dtype not in dtypes_of(op_type):
        raise core.InvalidArgument(
            f"{op_type}: the dtype must be one of {', '.join(dtypes_of(op_type))}, got {dtype}"
        )
    data = Data(seed, op_type, dtype)
    family = _FAMILIES.get(op_type)
    if family is None and _is_elementwise(op_type):
        family = activations.smooth
    if family is not None:
        return list(family(op_type, data))
    forward = examples(op_type.removesuffix(SUFFIX), seed, dtype)
    return [made for example in forward for made in gradient_examples(op_type, example, data)]


def has_case(op_type: str) -> bool:
    """Whether there are examples of an operator; NotFound if there is no such operator."""
    definition = core.op_def(op_type)
    if op_type in _FAMILIES or _is_elementwise(op_type):
        return True
    forward = op_type.removesuffix(SUFFIX)
    return forward != op_type and definition.has_grad and has_case(forward)


def _is_elementwise(op_type: str) -> bool:
    """Whether an operator makes a tensor of each element of one, and has a gradient.

    Without examples of its own such a function is taken to be smooth everywhere: where it is not,
    checks of these examples are inconclusive.
    """
    definition = core.op_def(op_type)
    slots = [[slot.name for slot in side] for side in (definition.inputs, definition.outputs)]
    if not definition.has_grad or slots != [["X"], ["Out"]] or is_control_flow(op_type):
        return False
    if any(slot.list for slot in definition.inputs) or any(a.required for a in definition.attrs):
        return False
    op = core.OpDesc(op_type, {"X": ["x"]}, {"Out": ["out"]}, {})
    return definition.num_rows(op, "X", {"X": [[2, 3]]}) == 6


def dtypes_of(op_type: str) -> list[str]:
    """The floating element types of an operator, widest first."""
    kernels = {dtype for _, dtype in core.op_def(op_type).kernels}
    return [dtype for dtype in DTYPES if dtype in kernels & FLOATING]


def differentiable_types() -> list[str]:
    """The operators that have a gradient, without control flow and what several ranks run."""
    return [
        op_type
        for op_type in core.op_types()
        if core.op_def(op_type).has_grad
        and not is_control_flow(op_type)
        and not is_collective(op_type)
    ]


def is_control_flow(op_type: str) -> bool:
    """Whether it runs a block, handles an array or selected rows: it needs a program around it."""
    definition = core.op_def(op_type)
    slots = (*definition.inputs, *definition.outputs)
    arrays = any(slot.array or slot.only_rows for slot in slots) or "array" in op_type
    return definition.runs_block or arrays


def program_names() -> list[str]:
    """The names of the example programs: layers, loops, branches, recurrences."""
    return list(_PROGRAMS)


def program_example(name: str, seed: int = 0, dtype: DTypeLike = "float32") -> ProgramExample:
    """The example program of this name, in float32 or float64; core.NotFound if there is none."""
    builder = _PROGRAMS.get(name)
    if builder is None:
        raise core.NotFound(f"no example program '{name}'; there are: {', '.join(_PROGRAMS)}")
    return example(name, builder, seed, dtype_name(dtype))


def program_examples(seed: int = 0, dtype: DTypeLike = "float32") -> list[ProgramExample]:
    """All example programs, with values that depend on the seed."""
    return [program_example(name, seed, dtype) for name in _PROGRAMS]
