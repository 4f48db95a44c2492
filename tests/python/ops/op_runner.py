"""Runs one operator with plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.base.dtypes import dtype_name
from fluidcore.program.attributes import plain_attributes

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = "Array | list[Array]"


@dataclass
class OneOp:
    """A program of one operator, and the values of its inputs.

    The variables are called x, y, ... after their slots X, Y, ..., and x_0, x_1, ... in lists. One
    array in two places is one variable in two places.
    """

    program: core.ProgramDesc
    op: core.OpDesc
    scope: core.Scope
    values: dict[str, Array] = field(default_factory=dict)

    @property
    def block(self) -> core.BlockDesc:
        return self.program.block(0)

    def add_value(self, name: str, value: Array) -> None:
        variable = self.block.var(name)
        variable.set_shape(list(value.shape))
        variable.set_dtype(dtype_name(value.dtype))
        self.scope.var(name).get_tensor().set(value)
        self.values[name] = value

    def run(self, fetches: Sequence[str], *, threads: int = 1) -> list[Array]:
        executor = core.Executor(core.CPUPlace())
        results = executor.run(self.program, {}, list(fetches), self.scope, threads)
        return [np.array(result) for result in results]

    def run_on_gpu(self, fetches: Sequence[str], times: int = 1) -> list[list[Array]]:
        """The same on a GPU, so many times; what has no kernel there runs on the CPU."""
        place = core.CUDAPlace(0)
        scope = core.Scope()
        for name, value in self.values.items():
            scope.var(name).get_tensor().set(value, place)
        executor = core.Executor(place, allow_cpu_fallback=True)
        return [
            [np.array(result) for result in executor.run(self.program, {}, list(fetches), scope)]
            for _ in range(times)
        ]


def one_op(
    op_type: str,
    inputs: Mapping[str, Value],
    attrs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, int] | None = None,
    in_place: Mapping[str, str] | None = None,
) -> OneOp:
    """Makes the program.

    Args:
        op_type: Type of the operator.
        inputs: Slot -> array or list of arrays.
        attrs: Attributes.
        outputs: Slot -> number of variables, 0 for a slot that is no list; None for one in each
            slot of the operator.
        in_place: Output slot -> input slot whose variable is written.
    """
    one = OneOp(core.ProgramDesc(), core.OpDesc(), core.Scope())
    names: dict[int, str] = {}
    slots: dict[str, list[str]] = {}
    for slot, value in inputs.items():
        listed = isinstance(value, list)
        slots[slot] = []
        for i, array in enumerate(value if isinstance(value, list) else [value]):
            name = names.get(id(array))
            if name is None:
                name = names[id(array)] = f"{slot.lower()}_{i}" if listed else slot.lower()
                one.add_value(name, array)
            slots[slot].append(name)
    if outputs is None:
        outputs = {slot.name: 1 if slot.list else 0 for slot in core.op_def(op_type).outputs}
    results = {
        slot: [f"{slot.lower()}_out_{i}" for i in range(count)]
        if count
        else [f"{slot.lower()}_out"]
        for slot, count in outputs.items()
    }
    for slot, written in (in_place or {}).items():
        results[slot] = slots[written]
    plain = plain_attributes(op_type, attrs or {})
    one.op = one.block.add_op(op_type, slots, results, plain)
    return one


def run_op(
    op_type: str,
    inputs: Mapping[str, Value],
    attrs: Mapping[str, Any] | None = None,
    *,
    threads: int = 1,
    seed: int = 0,
) -> dict[str, Array]:
    """The outputs of an operator without lists, by slot."""
    one = one_op(op_type, inputs, attrs)
    one.program.set_random_seed(seed)
    slots = {slot: names[0] for slot, names in one.op.outputs().items()}
    return dict(zip(slots, one.run(list(slots.values()), threads=threads), strict=True))
