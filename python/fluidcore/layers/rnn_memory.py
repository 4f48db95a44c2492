"""The memories of a StaticRNN, and what they start as."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core
from fluidcore.base.checks import check_extents, check_number
from fluidcore.base.dtypes import FLOATING
from fluidcore.layers.batch_size_like import fill_constant_batch_size_like
from fluidcore.layers.helper import check_variable
from fluidcore.layers.tensor import fill_constant
from fluidcore.program import Variable, default_main_program


class Memory:
    """What is carried from step to step.

    Attributes:
        initial: The variable around the block that it starts as.
        before: What the block has of it: the value after the step before.
        after: Its value after this step; None until update_memory.
    """

    def __init__(self, initial: Variable, before: Variable) -> None:
        self.initial = initial
        self.before = before
        self.after: Variable | None = None


def initial_memory(
    shape: Sequence[int] | None,
    batch_ref: Variable | None,
    value: float,
    dims: tuple[int, int],
    inputs: Sequence[tuple[Variable, Variable]],
) -> Variable:
    """Appends, to the current block, the operators that fill a memory with a number.

    Args:
        shape: Extents; that at dims[0] may be unknown.
        batch_ref: Where the unknown extent is taken from; of a step input, the whole sequence.
        value: Of each element.
        dims: The dimension of the memory, and that of batch_ref.
        inputs: Each sequence with its slice.
    """
    if shape is None:
        raise core.InvalidArgument(
            "static_rnn: a memory must have init or shape, got neither; "
            "write memory(shape=[-1, size], batch_ref=x)"
        )
    extents = check_extents("static_rnn: memory", shape)
    check_number("static_rnn: init_value", value)
    if batch_ref is None:
        if -1 in extents:
            raise core.InvalidArgument(
                f"static_rnn: a memory must have batch_ref where an extent is unknown, got shape "
                f"{extents}; write memory(shape={extents}, batch_ref=x)"
            )
        dtype = inputs[0][0].dtype if inputs else "float32"
        return fill_constant(extents, _floating(dtype), value)
    check_variable("static_rnn", "batch_ref", batch_ref)
    sequence = next((seq for seq, part in inputs if part is batch_ref), batch_ref)
    if not default_main_program().current_block().has_var_recursive(sequence.name):
        raise core.InvalidArgument(
            f"static_rnn: batch_ref must be a step input, or a variable made before the block, "
            f"got '{batch_ref.name}' of block {batch_ref.block.idx}"
        )
    dtype = _floating(sequence.dtype)
    return fill_constant_batch_size_like(sequence, extents, dtype, value, dims[1], dims[0])


def _floating(dtype: str) -> str:
    return dtype if dtype in FLOATING else "float32"
