"""A single operator that runs on the variables of a scope."""

from __future__ import annotations

from typing import Any

from fluidcore import core
from fluidcore.base.checks import did_you_mean
from fluidcore.base.op_protos import OpProtoHolder, get_all_op_protos

__all__ = ["Operator", "get_all_op_protos"]


class Operator:
    """An operator with the names of its variables, as Fluid's tests of operators make them.

    Operator("sgd", Param="w", Grad="g", LearningRate="lr", ParamOut="w").run(scope, place)

    Args:
        type: Of the operator.
        **settings: A name, or a list of names, for each slot; values for attributes.

    Raises:
        core.NotFound: There is no such operator, slot or attribute.
        TypeError: A slot is given what is no name.
    """

    def __init__(self, type: str, **settings: Any) -> None:
        definition = core.op_def(type)
        slots = {slot.name for slot in definition.inputs}
        results = {slot.name for slot in definition.outputs}
        attrs = {attr.name for attr in definition.attrs}
        self._inputs: dict[str, list[str]] = {}
        self._outputs: dict[str, list[str]] = {}
        self._attrs: dict[str, Any] = {}
        for name, value in settings.items():
            if name in slots:
                self._inputs[name] = _names(type, name, value)
            elif name in results:
                self._outputs[name] = _names(type, name, value)
            elif name in attrs:
                self._attrs[name] = value
            else:
                known = sorted(slots | results | attrs)
                raise core.NotFound(
                    f"{type}: no slot or attribute '{name}'{did_you_mean(name, known)}"
                )
        self._type = type

    def type(self) -> str:
        """The operator's type."""
        return self._type

    @staticmethod
    def get_op_inputs(type: str) -> list[tuple[str, bool]]:
        """The input slots of an operator, each with whether it holds a list.

        Raises:
            core.NotFound: There is no such operator.
        """
        proto = OpProtoHolder.instance().get_op_proto(type)
        return [(slot.name, slot.duplicable) for slot in proto.inputs]

    @staticmethod
    def get_op_outputs(type: str) -> list[tuple[str, bool]]:
        """The output slots of an operator, each with whether it holds a list.

        Raises:
            core.NotFound: There is no such operator.
        """
        proto = OpProtoHolder.instance().get_op_proto(type)
        return [(slot.name, slot.duplicable) for slot in proto.outputs]

    @staticmethod
    def get_op_attr_names(type: str) -> list[str]:
        """The attributes of an operator.

        Raises:
            core.NotFound: There is no such operator.
        """
        return [attr.name for attr in core.op_def(type).attrs]

    def run(self, scope: core.Scope, place: core.CPUPlace) -> None:
        """Reads the inputs from the scope, and writes the outputs to it.

        Args:
            scope: Must hold the inputs.
            place: CPUPlace().

        Raises:
            core.NotFound: An input has no value.
            core.Error: As of the operator; the scope is as before.
        """
        program = core.ProgramDesc()
        block = program.block(0)
        for names in self._inputs.values():
            for name in names:
                found = scope.find_var(name)
                if found is None or not found.get_tensor().is_initialized():
                    raise core.NotFound(f"{self._type}: '{name}' must have a value in the scope")
                tensor = found.get_tensor()
                var = block.var(name)
                var.set_shape(tensor.shape())
                var.set_dtype(tensor.dtype())
                var.set_persistable(True)
        op = block.append_op()
        op.copy_from(core.OpDesc(self._type, self._inputs, self._outputs, self._attrs))
        op.infer_shape(block)
        for name in op.output_arg_names():
            block.var(name).set_persistable(True)
        core.Executor(place).run(program, {}, [], scope)


def _names(op_type: str, slot: str, value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{op_type}: {slot} must be a name or a list of names, got {value!r}")
    return list(names)
