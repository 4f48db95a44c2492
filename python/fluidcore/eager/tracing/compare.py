"""Whether two traces are one program, for every extent of the batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidcore import core
from fluidcore.eager.operation import Array
from fluidcore.eager.tracing.traced import TracedProgram
from fluidcore.program import Operator


def check_same(traced: TracedProgram, twice: TracedProgram, batch: int) -> None:
    """core.InvalidArgument if the operators or constants of two traces differ.

    Args:
        traced: With a batch of `batch`.
        twice: With one of 2 batch.
        batch: An extent.
    """
    # Both calculate the same names and nothing else, so that neither can be the beginning of the
    # other.
    pairs = zip(traced.program.global_block().ops, twice.program.global_block().ops, strict=False)
    for one, two in pairs:
        if _form(one) != _form(two):
            _refuse(_shown(one, two), _shown(two, one), batch)
    for variable in traced.program.list_vars():
        if variable.persistable:
            own, other = (_value(trace, variable.name) for trace in (traced, twice))
            if own.shape != other.shape or own.tobytes() != other.tobytes():
                first, second = (
                    f"'{variable.name}' of shape {list(value.shape)}" for value in (own, other)
                )
                _refuse(first, second, batch)


def _value(traced: TracedProgram, name: str) -> Array:
    return np.asarray(traced.scope.var(name).get_tensor())


def _form(op: Operator) -> Any:
    return op.type, op.desc.inputs(), op.desc.outputs(), op.desc.attrs()


def _shown(op: Operator, other: Operator) -> str:
    """An operator with the attributes that the other has otherwise, or with its variables."""
    mine, others = op.desc.attrs(), other.desc.attrs()
    given = [f"{name}={value}" for name, value in mine.items() if others.get(name) != value]
    if op.type == other.type and given:
        return f"{op.type}({', '.join(given)})"
    return str(op)


def _refuse(one: str, two: str, batch: int) -> None:
    raise core.InvalidArgument(
        "trace: with dynamic_batch no operator and no constant may depend on the extent of the "
        f"batch, got {one} for {batch} and {two} for {2 * batch}; write -1 for it, as in "
        "x.reshape(-1, 3), or trace without dynamic_batch"
    )
