"""The operators that led to a tensor, as a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fluidcore import core
from fluidcore.eager.operation import Array
from fluidcore.eager.record import Record, records_before
from fluidcore.program import Program

if TYPE_CHECKING:
    from fluidcore.eager.tensor import Tensor


class Tape:
    """The operators that led to a result, and the values that they read and wrote.

    Each value has a number. Two tapes with equal keys are one program with other values.

    Attributes:
        records: The operators, in the order of execution.
        values: The value of each number.
        target: The number of the result.
        leaves: Number -> the tensor, of those whose gradient is wanted. A tensor that was given
            another value in between has two numbers.
        key: Equal for equal programs.
    """

    def __init__(self, result: Record, position: int) -> None:
        self.records = records_before(result)
        self.values: list[Array] = []
        self.leaves: dict[int, Tensor] = {}
        numbers: dict[Any, int] = {}
        first_output: dict[int, int] = {}
        self._inputs: list[list[int]] = []  # of each record
        self._outputs: list[int] = []  # the first one of each record
        for record in self.records:
            read = []
            for array, source, output in zip(
                record.arrays, record.sources, record.positions, strict=True
            ):
                if isinstance(source, Record):
                    read.append(first_output[id(source)] + output)
                    continue
                mark = (id(source), id(array))
                number = numbers.get(mark)
                if number is None:
                    number = numbers[mark] = len(self.values)
                    self.values.append(array)
                    if source is not None:
                        self.leaves[number] = source
                read.append(number)
            self._inputs.append(read)
            first_output[id(record)] = len(self.values)
            self._outputs.append(len(self.values))
            self.values += record.outputs
        self.target = first_output[id(result)] + position
        operations = tuple(record.operation for record in self.records)
        self.key = (operations, tuple(map(tuple, self._inputs)), tuple(self.leaves), self.target)

    def program(self) -> Program:
        """The operators in a new program; the variable of number 7 is called "relu_7", for example.

        Variables that no operator writes are data; those whose gradient is wanted do not stop
        gradients.
        """
        program = Program()
        block = program.global_block().desc
        names = self.names()
        results = {
            number
            for record, first in zip(self.records, self._outputs, strict=True)
            for number in range(first, first + len(record.outputs))
        }
        for number, name in enumerate(names):
            if number not in results:
                _declare(block, name, self.values[number], number in self.leaves)
        for record, read, first in zip(self.records, self._inputs, self._outputs, strict=True):
            operation = record.operation
            inputs = by_slot(operation.inputs, [names[number] for number in read])
            outputs = by_slot(operation.outputs, names[first : first + len(record.outputs)])
            block.add_op(operation.op_type, inputs, outputs, operation.attrs, record.site)
        return program

    def names(self) -> list[str]:
        """The name of each value."""
        names = [f"constant_{number}" for number in range(len(self.values))]
        for number in self.leaves:
            names[number] = f"x_{number}"
        for record, first in zip(self.records, self._outputs, strict=True):
            for number in range(first, first + len(record.outputs)):
                names[number] = f"{record.operation.op_type}_{number}"
        return names


def _declare(block: core.BlockDesc, name: str, value: Array, is_leaf: bool) -> None:
    variable = block.var(name)
    variable.set_shape(value.shape)
    variable.set_dtype(value.dtype.name)
    variable.set_is_data(True)
    variable.set_stop_gradient(not is_leaf)


def by_slot(slots: dict[str, list[str]], names: list[str]) -> dict[str, list[str]]:
    """The names of an operation's slots, replaced in their order by others."""
    remaining = iter(names)
    return {slot: [next(remaining) for _ in of_slot] for slot, of_slot in slots.items()}
