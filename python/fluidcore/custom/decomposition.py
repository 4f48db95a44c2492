"""`decompose`: an operator written down as layers, for inputs of certain shapes and dtypes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from fluidcore import core, unique_name
from fluidcore.base.call_site import end_of, explain
from fluidcore.base.definitions import remembered
from fluidcore.custom.formula import Function, parameter_name, parameters_of, slot_parameters
from fluidcore.custom.recorded_layers import Recording, Spec
from fluidcore.program import Block, Program, Variable, program_guard
from fluidcore.program.writing_out import decomposes_by_specs

_CACHED = 256  # recordings that stay ready
_recorded_now: ContextVar[tuple[str, ...]] = ContextVar("fluidcore_recorded_now", default=())


class Decomposition:
    """What a function of layers makes of an operator's inputs.

    Args:
        type: Of the operator.
        function: Takes Variables of inputs, and attributes, by name; returns those of the outputs.
        inputs: Slots.
        outputs: Slots.
        attrs: Names of the attributes.

    Raises:
        core.InvalidArgument: The function has a parameter that stands for nothing.
    """

    def __init__(
        self,
        type: str,
        function: Function,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attrs: Sequence[str],
    ) -> None:
        self.type = type
        self.who = f"{type}: decompose"
        self._function = function
        self._inputs = list(inputs)
        self._outputs = list(outputs)
        slots = slot_parameters(inputs)
        names = {parameter_name(name): name for name in attrs}
        parameters = parameters_of(self.who, function, [*slots, *names])
        self._slots = {name: slots[name] for name in parameters if name in slots}
        self._attrs = {name: names[name] for name in parameters if name in names}

    def recording(self, specs: Mapping[str, Any], attrs: Mapping[str, Any]) -> Recording:
        """The operators for inputs of these specs, slot -> (shape, dtype).

        Raises:
            core.InvalidArgument: They are no decomposition; a note says which line is to blame.
        """
        known = tuple(Spec(tuple(specs[slot][0]), specs[slot][1]) for slot in self._inputs)
        settings = tuple((name, _key(attrs[name])) for name in self._attrs.values())
        return _recording(self, known, settings)

    def specs(self, specs: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[Spec]:
        """Those of the outputs."""
        return self.recording(specs, attrs).specs

    def steps(
        self, specs: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> tuple[list[tuple[core.OpDesc, bool]], dict[str, str]]:
        """What core.define_op calls `decompose`."""
        found = self.recording(specs, attrs)
        return found.steps, found.results

    def forward(self, values: dict[str, Any], attrs: dict[str, Any]) -> None:
        """Writes what the operators calculate into the arrays of the outputs."""
        for slot, result in self.calculated(values, attrs).items():
            values[slot][...] = result

    def calculated(self, values: Mapping[str, Any], attrs: Mapping[str, Any]) -> dict[str, Any]:
        """What the operators calculate: output slot -> array."""
        given = {slot: values[slot] for slot in self._inputs}
        specs = {slot: (array.shape, array.dtype.name) for slot, array in given.items()}
        found = self.recording(specs, attrs)
        return dict(zip(found.results, found.run(map(np.array, given.values())), strict=True))

    def error(self, message: str, site: str = "") -> core.InvalidArgument:
        """An error, with a note of the line that is to blame, or the last one of the function."""
        error = core.InvalidArgument(f"{self.who} {message}")
        explain(error, site or end_of(self._function))
        return error

    def record(self, specs: Sequence[Spec], settings: Mapping[str, Any]) -> Recording:
        """Calls the function, and checks what it appended."""
        if self.type in _recorded_now.get():
            raise core.InvalidArgument(
                f"{self.who} must be made of other operators, got {self.type} itself"
            )
        program, startup = Program(), Program()
        block = program.global_block()
        given = {
            slot: block.create_var(slot, shape=spec.shape, dtype=spec.dtype, stop_gradient=False)
            for slot, spec in zip(self._inputs, specs, strict=True)
        }
        arguments = {name: given[slot] for name, slot in self._slots.items()}
        arguments |= {name: settings[attr] for name, attr in self._attrs.items()}
        with _recorded(self.type), program_guard(program, startup), unique_name.guard():
            made = self._function(**arguments)
            known = self._check_operators(block)
            self._check_variables(program, startup)
            results = self._results(made, block, known)
            block.write_out_all(decomposes_by_specs)
        return Recording(block, list(given.values()), results)

    def _results(self, made: Any, block: Block, known: set[str]) -> dict[str, Variable]:
        results = list(made) if isinstance(made, (list, tuple)) else [made]
        if len(results) != len(self._outputs) or not all(isinstance(v, Variable) for v in results):
            got = ", ".join(type(item).__name__ for item in results) or "nothing"
            raise self.error(
                f"must return a Variable for each of {len(self._outputs)} outputs, "
                f"{', '.join(self._outputs)}, got {got}"
            )
        for variable in results:
            if variable.block.program is not block.program or variable.name not in known:
                raise self.error(
                    f"must return what it makes of its inputs, got '{variable.name}', which it "
                    "does not calculate"
                )
        return dict(zip(self._outputs, results, strict=True))

    def _check_variables(self, program: Program, startup: Program) -> None:
        for variable in (*program.list_vars(), *startup.list_vars()):
            if variable.persistable:
                raise self.error(_lives_on(variable))

    def _check_operators(self, block: Block) -> set[str]:
        """The variables that have a value."""
        known = set(self._inputs)
        for op in block.desc.ops():
            definition = core.op_def(op.type())
            slots = (*definition.inputs, *definition.outputs)
            site = op.call_site()
            if definition.runs_block or any(slot.array or slot.only_rows for slot in slots):
                raise self.error(f"must be of operators on tensors, without blocks, got {op}", site)
            if definition.is_random:
                raise self.error(f"must draw no random numbers, got {op}", site)
            for name in op.input_arg_names():
                if name not in known and block.var(name).persistable:
                    raise self.error(_lives_on(block.var(name)), site)
                if name not in known:
                    raise self.error(
                        f"must read its inputs and what it makes of them alone, got '{name}'", site
                    )
            known.update(op.output_arg_names())
        return known


def _lives_on(variable: Variable) -> str:
    return (
        f"must make nothing that lives between runs, got '{variable.name}'; let parameters be "
        "inputs of the operator"
    )


@contextmanager
def _recorded(type: str) -> Iterator[None]:
    token = _recorded_now.set((*_recorded_now.get(), type))
    try:
        yield
    finally:
        _recorded_now.reset(token)


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _new_recording(
    decomposition: Decomposition,
    specs: tuple[Spec, ...],
    settings: tuple[tuple[str, Any], ...],
) -> Recording:
    attrs = {name: list(v) if isinstance(v, tuple) else v for name, v in settings}
    return decomposition.record(specs, attrs)


_recording = remembered(_new_recording, _CACHED)
