"""From one forward operator to its gradient operators, with their names in the program."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from types import MappingProxyType

from fluidcore import core
from fluidcore.backward.names import GradientNames
from fluidcore.backward.operators import EMPTY, ForwardOp, GradOp, op_traits, renamed_slots
from fluidcore.backward.values import ForwardValues
from fluidcore.backward.versions import Version
from fluidcore.base.call_site import explain
from fluidcore.program import Block
from fluidcore.program.writing_out import decomposes_by_specs, specs_of_inputs

_NEW = "@NEW"  # what an operator leaves in a variable that it also reads
_OLD = "@OLD"  # what it reads, if its gradient maker gives that name to a gradient


def gradient_of(
    op: ForwardOp,
    no_grad: Collection[str],
    names: GradientNames,
    block: Block,
    arrays: Mapping[str, str] = MappingProxyType({}),
) -> list[GradOp]:
    """The gradient operators of one forward operator.

    Args:
        op: An operator without sub-block.
        no_grad: Variables that are constants.
        names: Of the gradients in the block that the operators go to.
        block: Where the forward operator is.
        arrays: Tensor array -> its gradient.
    """
    assert op.desc is not None
    if not op_traits(op.type).has_grad:
        raise _no_gradient(op)
    desc, new_values, old_values = _with_unambiguous_names(op, arrays)
    stopped = {name for name in desc.input_arg_names() if old_values.get(name, name) in no_grad}
    site = op.desc.call_site()
    try:
        specs = (
            specs_of_inputs(desc, block.desc, old_values) if decomposes_by_specs(op.type) else {}
        )
        descs, grad_to_var = core.get_grad_op_desc(desc, stopped, [], specs)
    except core.Error as error:
        explain(error, site)
        raise
    final, cotangents = _names_of_gradients(
        op, desc, grad_to_var, names, arrays, new_values | old_values
    )
    steps = False  # whether the operators calculate something for each other
    for made in descs:
        for name in chain.from_iterable(made.outputs().values()):
            if name != EMPTY and name not in final:
                final[name] = names.fresh(name)
                steps = True
    incoming = tuple(cotangents) if steps else None
    grads = []
    for made in descs:
        inputs, outputs = made.inputs(), made.outputs()
        new_inputs = renamed_slots(inputs, final)
        new_outputs = renamed_slots(outputs, final)
        renamed = new_inputs is not inputs or new_outputs is not outputs
        grads.append(
            GradOp(
                made.type(),
                new_inputs,
                new_outputs,
                cotangents=cotangents,
                desc=made,
                renamed=renamed,
                call_site=site,
                forward=op,
                new_values=new_values,
                old_values=old_values,
                incoming=incoming,
            )
        )
    return grads


def _names_of_gradients(
    op: ForwardOp,
    desc: core.OpDesc,
    grad_to_var: Mapping[str, str],
    names: GradientNames,
    arrays: Mapping[str, str],
    forward_names: Mapping[str, str],
) -> tuple[dict[str, str], dict[str, str]]:
    """The names in the program of the gradients that come in and go out.

    Returns:
        Name from the gradient maker -> name; of those that come in, name -> variable of `desc`.
    """
    final: dict[str, str] = {}
    cotangents: dict[str, str] = {}

    def add(grad: str, name: str, version: Version) -> None:
        if name in arrays:
            final[grad] = arrays[name]
        else:
            final[grad] = names.gradient(name, version)
            names.grad_to_var[final[grad]] = name

    for found in desc.output_arg_names():
        grad = core.grad_var_name(found)
        name = forward_names.get(found, found)
        add(grad, name, names.versions.written(op, name))
        cotangents[final[grad]] = found
    for grad, found in grad_to_var.items():
        name = forward_names.get(found, found)
        add(grad, name, names.versions.read(op, name))
    return final, cotangents


def _with_unambiguous_names(
    op: ForwardOp, arrays: Mapping[str, str]
) -> tuple[core.OpDesc, dict[str, str], dict[str, str]]:
    """The operator, with other names where two values, or a value and a gradient, share one.

    Returns:
        The operator; the new names of outputs that overwrite inputs; the new names of inputs that
        are called as the gradient of another input or of an output, as gradient operators have.
    """
    assert op.desc is not None
    in_place = [name for name in op.outputs if name in op.inputs and name not in arrays]
    grads = {core.grad_var_name(name) for name in (*op.inputs, *op.outputs)}
    shared = [name for name in dict.fromkeys(op.inputs) if name in grads and name not in arrays]
    if not in_place and not shared:
        return op.desc, {}, {}
    desc = core.OpDesc()
    desc.copy_from(op.desc)
    for name in in_place:
        desc.rename_output(name, name + _NEW)
    for name in shared:
        desc.rename_input(name, name + _OLD)
    return desc, {n + _NEW: n for n in in_place}, {n + _OLD: n for n in shared}


def _no_gradient(op: ForwardOp) -> core.InvalidArgument:
    assert op.desc is not None
    error = core.InvalidArgument(
        f"append_backward: '{op.type}' must have a gradient to lie between a parameter and the "
        f"loss, got '{op.type}', which has none; set stop_gradient=True on its output "
        f"'{', '.join(op.outputs)}', or put the output into no_grad_set"
    )
    explain(error, op.desc.call_site())
    return error


def with_values(grad: GradOp, values: ForwardValues) -> GradOp:
    """The operator, reading the values that its forward operator saw."""
    op = grad.forward
    if op is None:
        return grad
    if values.outer is None and not values.versions.several and not grad.old_values:
        return grad  # everything is there under its own name
    shape_only = op_traits(grad.type).shape_only(grad.outputs)
    found: dict[str, list[str]] = {}
    for slot, args in grad.inputs.items():
        found[slot] = [
            _value(name, op, grad, values, slot in shape_only) if name != EMPTY else name
            for name in args
        ]
    if found == grad.inputs:
        return grad
    return grad._replace(inputs=found, renamed=True)


def _value(name: str, op: ForwardOp, grad: GradOp, values: ForwardValues, shape_only: bool) -> str:
    if name in values.names.taken:
        return name  # made by the gradient operators
    versions = values.versions
    forward = grad.new_values.get(name) or grad.old_values.get(name, name)
    # What a sub-block writes outside of itself keeps its shape.
    if shape_only and (
        forward not in versions.several or (values.op is not None and not values.is_local(forward))
    ):
        return forward
    return values.name(forward, versions.seen(op, forward, name in grad.new_values))
