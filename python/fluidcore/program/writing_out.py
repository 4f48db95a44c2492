"""Operators that stand for others, which depend on shapes and dtypes of their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from fluidcore import core
from fluidcore.base.definitions import remembered

Specs: TypeAlias = "dict[str, tuple[list[int], str]]"  # variable -> shape and dtype


class Step(NamedTuple):
    """One operator of a decomposition.

    Attributes:
        type: Of the operator.
        inputs: Slot -> names.
        outputs: Slot -> names.
        attrs: All of them.
        is_constant: Whether gradients stop there.
    """

    type: str
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    attrs: Mapping[str, Any] = MappingProxyType({})
    is_constant: bool = False


@remembered
def is_its_decomposition(op_type: str) -> bool:
    """Whether programs get the operator's decomposition in its place."""
    return core.op_def(op_type).is_its_decomposition


@remembered
def decomposes_by_specs(op_type: str) -> bool:
    """Whether there is a decomposition that is made for certain shapes and dtypes."""
    return core.op_def(op_type).decomposes_by_specs


def specs_of_inputs(
    op: core.OpDesc, block: core.BlockDesc, names: Mapping[str, str] = MappingProxyType({})
) -> Specs:
    """What is known of the variables that an operator reads.

    Args:
        op: The operator.
        block: Where it is.
        names: Input -> what the block calls it, where that differs.
    """
    found = {}
    for name in op.input_arg_names():
        variable = block.find_var_recursive(names.get(name, name))
        found[name] = (variable.shape(), variable.dtype())
    return found


def steps_of(op: core.OpDesc, block: core.BlockDesc) -> list[Step]:
    """The operators that one of a block stands for; they write its outputs."""
    made, results = core.decomposition_of(op, specs_of_inputs(op, block))
    read = set(op.input_arg_names())
    # What the operator overwrites is read until all others have run.
    names = {value: output for output, value in results.items() if output not in read}

    def renamed(slots: Mapping[str, list[str]]) -> dict[str, list[str]]:
        return {slot: [names.get(name, name) for name in args] for slot, args in slots.items()}

    steps = [
        Step(step.type(), renamed(step.inputs()), renamed(step.outputs()), step.attrs(), constant)
        for step, constant in made
    ]
    steps += [
        Step("assign", {"X": [value]}, {"Out": [output]})
        for output, value in results.items()
        if output in read
    ]
    return steps
