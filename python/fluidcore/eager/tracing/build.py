"""A program made from notes of the operators that ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fluidcore import core
from fluidcore.eager.notes import Note, Notes
from fluidcore.eager.operation import Array, element_type
from fluidcore.eager.tape import by_slot
from fluidcore.eager.tracing.traced import TracedProgram
from fluidcore.program import Program
from fluidcore.program.writing_out import is_its_decomposition


class Named(NamedTuple):
    """A tensor of a module.

    Attributes:
        name: In its state_dict.
        is_parameter: Whether it is one, else a buffer.
        is_learnt: Whether it requires a gradient.
    """

    name: str
    is_parameter: bool
    is_learnt: bool


class Builder:
    """The program that calculates `results` from `feeds`.

    Args:
        notes: Of the operators; those that no result needs are left out.
        feeds: Name -> the array that stood for what will be fed.
        named: The id of an array -> what a module calls it.
        results: The arrays to calculate.
        dynamic_batch: Whether the first extent of what is fed is known at run time only.
    """

    def __init__(
        self,
        notes: Notes,
        feeds: Mapping[str, Array],
        named: Mapping[int, Named],
        results: Sequence[Array],
        dynamic_batch: bool,
    ) -> None:
        self._notes = notes
        self._named = named
        self._program = Program()
        self._block = self._program.global_block()
        self._scope = core.Scope()
        self._names: dict[int, str] = {}  # of the variables of arrays
        self._taken = {given.name for given in named.values()}
        for name, array in feeds.items():
            shape = [-1, *array.shape[1:]] if dynamic_batch else array.shape
            self._names[id(array)] = self._new_name(name)
            variable = self._block.create_var(
                self._names[id(array)], shape=shape, dtype=element_type(array), stop_gradient=True
            )
            variable.desc.set_is_data(True)
        self._feeds = list(self._names.values())
        self._results = results

    def traced(self) -> TracedProgram:
        """The program with the values of its constants."""
        needed = self._needed()
        made = {id(array) for note in needed for array in note.outputs}
        fetches: list[str] = []
        copies: list[tuple[Array, str]] = []  # what is no result of an operator, or is there twice
        for place, array in enumerate(self._results):
            name = self._new_name(f"output_{place}" if len(self._results) > 1 else "output")
            fetches.append(name)
            if id(array) in made and id(array) not in self._names:
                self._names[id(array)] = name
            else:
                copies.append((array, name))
        for note in needed:
            self._append(note)
        for array, name in copies:
            self._block.desc.add_op("assign", {"X": [self._name(array)]}, {"Out": [name]}, {})
        self._block.write_out_all(is_its_decomposition)
        return TracedProgram(self._program, self._feeds, fetches, self._scope)

    def _needed(self) -> list[Note]:
        wanted = {id(array) for array in self._results}
        needed = []
        for note in reversed(self._notes.notes):
            if not wanted.isdisjoint(id(array) for array in note.outputs):
                needed.append(note)
                wanted |= {id(array) for array in note.inputs}
        return needed[::-1]

    def _append(self, note: Note) -> None:
        operation = note.operation
        read = [self._name(array) for array in note.inputs]
        written = []
        for array in note.outputs:
            name = self._names.get(id(array))
            if name is None:
                name = self._new_name(f"{operation.op_type}_{len(self._names)}")
                self._names[id(array)] = name
            written.append(name)
        self._block.desc.add_op(
            operation.op_type,
            by_slot(operation.inputs, read),
            by_slot(operation.outputs, written),
            operation.attrs,
            note.site,
        )

    def _name(self, array: Array) -> str:
        """Of the variable of an array that is read; a constant is made known at first."""
        name = self._names.get(id(array))
        return self._constant(array) if name is None else name

    def _constant(self, array: Array) -> str:
        is_learnt = id(array) in self._notes.learnt
        given = self._named.get(id(array))
        if given is None:
            kind = "parameter" if is_learnt else "constant"
            name = self._new_name(f"{kind}_{len(self._names)}")
            given = Named(name, is_learnt, is_learnt)
        dtype = element_type(array)
        if given.is_parameter:
            self._block.create_parameter(
                array.shape,
                dtype,
                given.name,
                trainable=given.is_learnt,
                stop_gradient=not given.is_learnt,
            )
        else:
            self._block.create_var(
                given.name, shape=array.shape, dtype=dtype, persistable=True, stop_gradient=True
            )
        self._scope.var(given.name).get_tensor().set(array)
        self._names[id(array)] = given.name
        return given.name

    def _new_name(self, key: str) -> str:
        name, count = key, 0
        while name in self._taken:
            count += 1
            name = f"{key}_{count}"
        self._taken.add(name)
        return name
