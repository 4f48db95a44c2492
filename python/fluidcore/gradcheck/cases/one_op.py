"""A program of one operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import name_of
from fluidcore.gradcheck.cases.example import Array, OpExample, as_list
from fluidcore.program.attributes import plain_attributes


@dataclass
class OneOp:
    """The program, its operator, and the values of the operator's inputs by name.

    The variables are called as their slots, X_0, X_1, ... in lists. One array in two places is one
    variable in two places.
    """

    program: core.ProgramDesc
    op: core.OpDesc
    values: dict[str, Array] = field(default_factory=dict)

    def run(self, names: Sequence[str]) -> dict[str, Array]:
        """The values of some variables."""
        scope = core.Scope()
        for name, value in self.values.items():
            scope.var(name).get_tensor().set(value)
        executor = core.Executor(core.CPUPlace())
        results = executor.run(self.program, {}, list(names), scope)
        return dict(zip(names, (np.array(result) for result in results), strict=True))


def one_op(example: OpExample) -> OneOp:
    """Makes the program of an example."""
    program = core.ProgramDesc()
    block = program.block(0)
    values: dict[str, Array] = {}
    names: dict[int, str] = {}
    inputs: dict[str, list[str]] = {}
    for slot, value in example.inputs.items():
        inputs[slot] = []
        for i, array in enumerate(as_list(value)):
            own = _variable(slot, i if isinstance(value, list) else None)
            name = names.setdefault(id(array), own)
            inputs[slot].append(name)
            if name == own:
                values[name] = array
                variable = block.var(name)
                variable.set_shape(list(array.shape))
                variable.set_dtype(name_of(array.dtype))
    outputs = {}
    for slot_def in core.op_def(example.type).outputs:
        slot = slot_def.name
        count = example.outputs.get(slot, 0 if slot_def.optional else 1)
        outputs[slot] = [_variable(slot, i if slot_def.list else None) for i in range(count)]
    attrs = plain_attributes(example.type, example.attrs)
    op = block.add_op(example.type, inputs, outputs, attrs)
    return OneOp(program, op, values)


def _variable(slot: str, index: int | None) -> str:
    name = slot.replace("@", "_")  # an @ would make it the gradient of another variable
    return name if index is None else f"{name}_{index}"
