"""The operators that a function of layers appends, as the decomposition of an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fluidcore import core
from fluidcore.program import Block, Variable


class Spec(NamedTuple):
    """What is known of a variable before it has a value.

    Attributes:
        shape: Extents; -1 is unknown.
        dtype: "float32".
    """

    shape: tuple[int, ...]
    dtype: str


class Recording:
    """Operators that calculate results of inputs; each variable is written once.

    Args:
        block: Holds the operators, and nothing that they must not be.
        inputs: The variables that are given.
        results: Output slot -> variable.

    Attributes:
        steps: The operators that the results need, each with whether gradients stop there.
        results: Output slot -> variable, each another one that a step writes.
        specs: Of the results.
    """

    def __init__(
        self, block: Block, inputs: Sequence[Variable], results: Mapping[str, Variable]
    ) -> None:
        self._block = block
        self._inputs = [variable.name for variable in inputs]
        self._desc = core.ProgramDesc()
        self._names: dict[str, str] = {}  # variable of `block` -> the one of `_desc` it is now
        self._steps: list[tuple[core.OpDesc, bool]] = []
        for variable in inputs:
            self._declare(variable)
            if variable.stop_gradient:
                self._stop(variable.name)
        for op in block.desc.ops():
            self._append(op)
        self.results: dict[str, str] = {}
        for slot, variable in results.items():
            self.results[slot] = self._result(self._names[variable.name])
        self.specs = [Spec(variable.shape, variable.dtype) for variable in results.values()]
        self.steps = list(self._needed())[::-1]
        self._executor = core.Executor(core.CPUPlace())

    def run(self, arrays: Iterable[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """The results for values of the inputs, in their order."""
        feed = dict(zip(self._inputs, arrays, strict=True))
        found = self._executor.run(self._desc, feed, list(self.results.values()), core.Scope())
        return [np.asarray(tensor) for tensor in found]

    def _declare(self, variable: Variable) -> None:
        desc = self._desc.block(0).var(variable.name)
        desc.set_shape(variable.shape)
        desc.set_dtype(variable.dtype)
        desc.set_is_data(True)
        self._names[variable.name] = variable.name

    def _append(self, op: core.OpDesc) -> None:
        inputs = {slot: [self._names.get(n, n) for n in args] for slot, args in op.inputs().items()}
        outputs = {
            slot: [n if n == core.EMPTY_VAR_NAME else self._new_name(n) for n in args]
            for slot, args in op.outputs().items()
        }
        written = op.output_arg_names()
        stopped = [n for n in written if self._block.var(n).stop_gradient]
        self._add(op.type(), inputs, outputs, op.attrs(), len(stopped) == len(written))
        for slot, args in op.outputs().items():
            self._names.update(zip(args, outputs[slot], strict=True))
        if len(stopped) < len(written):
            for name in stopped:
                self._stop(name)

    def _stop(self, name: str) -> None:
        """Lets whoever reads the variable from now on read a constant."""
        stopped = self._new_name(name)
        self._add("assign", {"X": [self._names[name]]}, {"Out": [stopped]}, {}, True)
        self._names[name] = stopped

    def _result(self, name: str) -> str:
        """The variable, or a copy of one that is an input or another result."""
        if name not in self._inputs and name not in self.results.values():
            return name
        result = self._new_name(name)
        self._add("assign", {"X": [name]}, {"Out": [result]}, {}, False)
        return result

    def _add(
        self,
        op_type: str,
        inputs: Mapping[str, list[str]],
        outputs: Mapping[str, list[str]],
        attrs: dict[str, Any],
        is_constant: bool,
    ) -> None:
        op = self._desc.block(0).add_op(op_type, inputs, outputs, attrs)
        self._steps.append((op, is_constant))

    def _new_name(self, key: str) -> str:
        name, count = key, 0
        while self._desc.block(0).has_var(name):
            count += 1
            name = f"{key}@{count}"
        return name

    def _needed(self) -> Iterator[tuple[core.OpDesc, bool]]:
        """The steps that the results need, the last one first."""
        read = set(self.results.values())
        for op, is_constant in reversed(self._steps):
            if not read.isdisjoint(op.output_arg_names()):
                read.update(op.input_arg_names())
                yield op, is_constant
