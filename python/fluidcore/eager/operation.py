"""One operator as a program of its own, made once for certain shapes and run many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fluidcore import core
from fluidcore.base.definitions import remembered
from fluidcore.eager.state import draw_seed
from fluidcore.executor import profiling, threads
from fluidcore.program.attributes import plain_attributes

Array: TypeAlias = NDArray[Any]
Slots: TypeAlias = "tuple[tuple[str, int], ...]"  # how many variables each slot has
Forms: TypeAlias = "tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]"  # shape and element type

_CACHED = 1024  # operations that stay ready
_names_of: dict[np.dtype[Any], str] = {}


def element_type(array: Array) -> str:
    """The name of an array's element type; NumPy makes it up anew every time."""
    name = _names_of.get(array.dtype)
    if name is None:
        name = _names_of[array.dtype] = array.dtype.name
    return name


class Operation:
    """One operator with its attributes, for inputs of certain shapes and element types.

    Attributes:
        op_type: "matmul".
        inputs: Slot -> names of its variables in `desc`, in the order of the arrays.
        outputs: The same for the results, intermediate ones too.
        attrs: As given, without defaults.
        results: The positions of outputs that are no intermediate results.
        result_slots: The slots that these are in.
        desc: The program: inputs, and the operator.
    """

    def __init__(
        self,
        op_type: str,
        slots: Slots,
        forms: Forms,
        attrs: Mapping[str, Any],
        counts: Mapping[str, int],
    ) -> None:
        definition = core.op_def(op_type)
        self.op_type = op_type
        self.attrs = plain_attributes(op_type, attrs)
        self.desc = core.ProgramDesc()
        block = self.desc.block(0)
        self.inputs = {slot: _names(slot, count) for slot, count in slots}
        names = [name for of_slot in self.inputs.values() for name in of_slot]
        for name, (shape, dtype) in zip(names, forms, strict=True):
            variable = block.var(name)
            variable.set_shape(shape)
            variable.set_dtype(dtype.name)
        self.outputs: dict[str, list[str]] = {}
        self.results: list[int] = []
        self.result_slots: list[str] = []
        position = 0
        for output in definition.outputs:
            count = counts.get(output.name, 0 if output.list else 1)
            self.outputs[output.name] = _names(f"{output.name}@OUT", count)
            if not output.intermediate:
                self.results += range(position, position + count)
                self.result_slots += [output.name] * count
            position += count
        block.add_op(op_type, self.inputs, self.outputs, self.attrs)
        self.is_constant = definition.is_constant
        self._draws = _draws(definition, self.attrs)
        self._feeds = names
        self._fetches = [name for of_slot in self.outputs.values() for name in of_slot]
        self._results = [self._fetches[i] for i in self.results]
        self._executor = core.Executor(core.CPUPlace())
        self._scope = core.Scope()

    def run(self, arrays: Sequence[Array], everything: bool) -> list[Array]:
        """The outputs for inputs of the right form; without `everything`, the results alone."""
        desc = self.desc
        if self._draws:
            desc = desc.clone()
            op = desc.block(0).op(0)
            for name, value in (("seed", draw_seed()), *_FIXED.get(self.op_type, ())):
                op.set_attr(name, value)
        return self._executor.run(
            desc,
            dict(zip(self._feeds, arrays, strict=True)),
            self._fetches if everything else self._results,
            self._scope,
            threads._num_threads,
            False,
            True,
            None,
            profiling._profile,
        )


_FIXED: Mapping[str, Sequence[tuple[str, bool]]] = {"dropout": (("fix_seed", True),)}


def _draws(definition: core.OpDef, attrs: Mapping[str, Any]) -> bool:
    """Whether each application draws new random numbers: the user gave no seed."""
    if not definition.is_random:
        return False
    if any(attr.name == "fix_seed" for attr in definition.attrs):
        return not attrs.get("fix_seed", False)
    return not attrs.get("seed", 0)


def _names(slot: str, count: int) -> list[str]:
    return [f"{slot}@{i}" for i in range(count)] if count != 1 else [slot]


def _new_operation(op_type: str, slots: Slots, forms: Forms, attrs: Any, counts: Any) -> Operation:
    return Operation(op_type, slots, forms, dict(attrs), dict(counts))


_operation = remembered(_new_operation, _CACHED)


def operation(
    op_type: str,
    slots: Slots,
    forms: Forms,
    attrs: Mapping[str, Any],
    counts: Mapping[str, int],
) -> Operation:
    """The operation, ready to run.

    Args:
        op_type: Type of the operator.
        slots: How many variables each input slot has.
        forms: Shape and element type of every input.
        attrs: Attributes; those left out get their defaults.
        counts: Output slot -> how many results a slot with a list has.

    Raises:
        core.InvalidArgument: The operator does not accept these inputs or attributes.
        core.NotFound: No such operator, slot or attribute.
    """
    plain = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in attrs.items())
    try:
        return _operation(op_type, slots, forms, plain, tuple(counts.items()))
    except TypeError:  # an attribute that cannot be a key
        return Operation(op_type, slots, forms, attrs, counts)
