"""One operator of fluidcore as a Target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from fluidcore import core
from fluidcore.base.dtypes import FLOATING, name_of
from fluidcore.gradcheck.adapters.network_target import NetworkTarget
from fluidcore.gradcheck.program.network import Network
from fluidcore.gradcheck.target.repro import Repro, array_text
from fluidcore.gradcheck.target.target import Array, Input
from fluidcore.program import Operator
from fluidcore.program.attributes import plain_attributes

Values: TypeAlias = "Mapping[str, Any]"

_MOST_SHOWN = 64  # elements of the inputs in the text that repeats a check


def operator_target(
    op: str | Operator | core.OpDesc,
    inputs: Values,
    attrs: Mapping[str, Any] | None = None,
    outputs: Sequence[str] | None = None,
    inputs_to_check: Sequence[str] | None = None,
    no_grad_set: Iterable[str] | None = None,
) -> NetworkTarget:
    """One operator and its gradient operators.

    Args:
        op: Its type, for example "tanh", or an operator that exists.
        inputs: Slot, or name of a variable -> array; a list of arrays for a slot that takes one.
        attrs: Attributes; only with a type.
        outputs: Slots or variables whose gradients flow in; None for all floating ones that the
            gradient operators read the gradient of.
        inputs_to_check: Slots or variables; None for all floating ones that have a gradient. The
            elements of a list are "X[0]", "X[1]", ...
        no_grad_set: Slots or variables that are constants.

    Raises:
        core.InvalidArgument: A value does not fit, or there is nothing to differentiate.
        core.NotFound: A slot, an attribute or a variable is unknown.
        TypeError: `op` is no operator, or an argument is not of its type.
    """
    if not isinstance(inputs, Mapping):
        raise TypeError(f"operator_target: inputs must map slots to arrays, got {inputs!r}")
    if isinstance(op, str):
        inputs = _arrays(op, inputs)
        desc = _make(op, inputs, attrs or {})
    elif isinstance(op, (Operator, core.OpDesc)):
        if attrs:
            raise core.InvalidArgument(
                "operator_target: attrs must be left out for an operator that exists, "
                f"got {dict(attrs)}"
            )
        desc = op.desc if isinstance(op, Operator) else op
        inputs = _arrays(desc.type(), inputs)
    else:
        raise TypeError(
            f"operator_target: op must be a type, an Operator or an OpDesc, got {type(op).__name__}"
        )
    source = op if isinstance(op, Operator) else desc
    who = desc.type()
    names = _Names(desc, inputs)
    values = names.values
    constants = set(names.of("no_grad_set", no_grad_set or ()))
    all_outputs = [name for name in desc.output_arg_names() if name != core.EMPTY_VAR_NAME]
    network = Network(source, values, all_outputs)
    results = zip(all_outputs, network.run(all_outputs), strict=True)
    floating = [name for name, y in results if name_of(y.dtype) in FLOATING]
    readable, checkable = _differentiable(desc, constants, values)
    if outputs is None:
        wanted = [name for name in floating if name in readable]
    else:
        wanted = names.of("outputs", outputs)
    if inputs_to_check is None:
        checked = [
            name
            for name in values
            if name_of(values[name].dtype) in FLOATING
            and name in checkable
            and name not in constants
        ]
    else:
        checked = names.of("inputs_to_check", inputs_to_check)
    if not wanted or not checked:
        raise core.InvalidArgument(
            f"{who}: there must be a floating input and a floating output that have gradients, got "
            f"inputs {checked}, outputs {wanted}"
        )
    shapes = {
        slot: [values[name].shape for name in args if name in values]
        for slot, args in desc.inputs().items()
    }
    shapes = {slot: group for slot, group in shapes.items() if group}
    definition = core.op_def(who)
    shown = [
        Input(
            names.shown(name),
            values[name],
            definition.num_rows(desc, names.slot(name), shapes) if names.once(name) else 0,
        )
        for name in checked
    ]
    target = NetworkTarget(who, source, values, shown, checked, wanted, constants, network=network)
    target.source = desc.call_site() or None
    if isinstance(op, str):
        chosen = {
            "outputs": None if outputs is None else wanted,
            "inputs_to_check": None if inputs_to_check is None else checked,
            "no_grad_set": sorted(constants) or None,
        }
        target.repro = _repro(op, inputs, attrs or {}, chosen)
    return target


def _arrays(op_type: str, inputs: Values) -> dict[str, Any]:
    """The values as arrays of numbers; a list of numbers is one array."""
    lists = {slot.name for slot in core.op_def(op_type).inputs if slot.list}

    def is_list(key: str, value: Any) -> bool:
        if not isinstance(value, (list, tuple)):
            return False
        return key in lists or any(isinstance(item, np.ndarray) for item in value)

    return {
        key: [_array(op_type, f"{key}[{i}]", item) for i, item in enumerate(value)]
        if is_list(key, value)
        else _array(op_type, key, value)
        for key, value in inputs.items()
    }


def _array(op_type: str, key: str, value: Any) -> Array:
    array = np.asarray(value)
    if not (name_of(array.dtype) in FLOATING or array.dtype.kind in "bi"):
        what = "None" if value is None else f"{array.dtype} {list(array.shape)}"
        raise core.InvalidArgument(
            f"{op_type}: input {key} must be an array of real numbers, got {what}"
        )
    return array


class _Names:
    """The variables of an operator, and what the user calls them."""

    def __init__(self, desc: core.OpDesc, inputs: Values) -> None:
        self._desc = desc
        self.values: dict[str, Array] = {}
        slots = desc.inputs()
        for key, value in inputs.items():
            if key in slots:
                given = list(value) if isinstance(value, (list, tuple)) else [value]
                if len(given) != len(slots[key]):
                    raise core.InvalidArgument(
                        f"{desc.type()}: slot '{key}' must be given {len(slots[key])} arrays, "
                        f"got {len(given)}"
                    )
                self.values.update(zip(slots[key], map(np.asarray, given), strict=True))
            elif key in desc.input_arg_names():
                self.values[key] = np.asarray(value)
            else:
                raise core.NotFound(
                    f"{desc.type()}: no input '{key}'; there are: "
                    f"{', '.join([*slots, *desc.input_arg_names()])}"
                )

    def slot(self, name: str) -> str:
        """The first slot that holds a variable."""
        return next(slot for slot, args in self._desc.inputs().items() if name in args)

    def once(self, name: str) -> bool:
        """Whether a variable is in one place only."""
        return self._desc.input_arg_names().count(name) == 1

    def shown(self, name: str) -> str:
        """What the user calls a variable: X, X[0], or its own name."""
        slot = self.slot(name)
        args = self._desc.input(slot)
        if name == _variable(slot):
            return slot
        if name == _variable(slot, args.index(name)):
            return f"{slot}[{args.index(name)}]"
        return name

    def of(self, what: str, items: Iterable[str]) -> list[str]:
        """The variables that slots and names stand for, in order."""
        if isinstance(items, str):
            raise TypeError(f"{self._desc.type()}: {what} must be a list of names, got {items!r}")
        slots = self._desc.inputs() | self._desc.outputs()
        known = {*self._desc.input_arg_names(), *self._desc.output_arg_names()}
        by_shown = {self.shown(name): name for name in self._desc.input_arg_names()}
        found: dict[str, None] = {}
        for item in items:
            if item in slots:
                found.update(dict.fromkeys(slots[item]))
            elif item in by_shown or item in known:
                found[by_shown.get(item, item)] = None
            else:
                raise core.NotFound(
                    f"{self._desc.type()}: no slot or variable '{item}' for {what}; there are: "
                    f"{', '.join([*slots, *sorted(known)])}"
                )
        return list(found)


def _make(op_type: str, inputs: Values, attrs: Mapping[str, Any]) -> core.OpDesc:
    """An operator with variables named after its slots."""
    definition = core.op_def(op_type)
    slots = {
        slot: [_variable(slot, i) for i in range(len(value))]
        if isinstance(value, (list, tuple))
        else [_variable(slot)]
        for slot, value in inputs.items()
    }
    outputs = {
        slot.name: [_variable(slot.name, i) for i in range(_count(op_type, attrs))]
        if slot.list
        else [_variable(slot.name)]
        for slot in definition.outputs
        if not slot.optional
    }
    return core.OpDesc(op_type, slots, outputs, plain_attributes(op_type, attrs))


def _count(op_type: str, attrs: Mapping[str, Any]) -> int:
    """How many variables a list of outputs has."""
    return int(attrs.get("num") or len(attrs.get("sections", ())) or 1)


def _variable(slot: str, index: int | None = None) -> str:
    name = slot.replace("@", "_")
    return name if index is None else f"{name}_{index}"


def _differentiable(
    desc: core.OpDesc, constants: set[str], values: Mapping[str, Array]
) -> tuple[set[str], set[str]]:
    """The outputs whose gradients are read, and the inputs that get one."""
    definition = core.op_def(desc.type())
    if definition.is_constant or not definition.has_grad:
        raise core.InvalidArgument(
            f"{desc.type()}: there must be gradient operators to check, got an operator without"
        )
    if definition.runs_block:
        return set(desc.output_arg_names()), set(desc.input_arg_names())
    specs = {name: (value.shape, name_of(value.dtype)) for name, value in values.items()}
    ops, grad_to_var = core.get_grad_op_desc(desc, constants, [], specs)
    read = {name for op in ops for name in op.input_arg_names()}
    outputs = {name for name in desc.output_arg_names() if core.grad_var_name(name) in read}
    return outputs, set(grad_to_var.values())


def _repro(
    op_type: str, inputs: Values, attrs: Mapping[str, Any], chosen: Mapping[str, Any]
) -> Repro | None:
    total = sum(np.size(v) for value in inputs.values() for v in _as_list(value))
    if total > _MOST_SHOWN:
        return None
    shown = []
    for slot, value in inputs.items():
        text = ", ".join(array_text(v) for v in _as_list(value))
        shown.append(
            f"{slot!r}: [{text}]" if isinstance(value, (list, tuple)) else f"{slot!r}: {text}"
        )
    given = f", {dict(attrs)!r}" if attrs else ""
    given += "".join(f", {key}={names!r}" for key, names in chosen.items() if names is not None)
    return Repro(
        ["import numpy as np", "from fluidcore.gradcheck import GradientChecker"],
        "GradientChecker(",
        f").check_op({op_type!r}, {{{', '.join(shown)}}}{given})",
    )


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
