"""Examples of gradient operators, made from those of the operators they belong to."""

from __future__ import annotations

from collections.abc import Iterator

from fluidcore import core
from fluidcore.gradcheck.cases.example import Array, Data, OpExample, Value
from fluidcore.gradcheck.cases.one_op import one_op

SUFFIX = "_grad"


def gradient_examples(op_type: str, example: OpExample, data: Data) -> Iterator[OpExample]:
    """The operators of type `op_type` in the gradient of `example`, at what they read there."""
    if example.is_flat:
        return
    one = one_op(example)
    names = one.op.input_arg_names()
    if len(set(names)) < len(names):  # its gradients are parts of a sum, with names of their own
        return
    wanted = {name for slot in example.slots_to_check() for name in one.op.input(slot)}
    grads, _ = core.get_grad_op_desc(one.op, set(one.values) - wanted, [])
    for grad in grads:
        if grad.type() != op_type or not _stands_alone(grad):
            continue
        incoming = {core.grad_var_name(n): n for n in one.op.output_arg_names()}
        read = dict.fromkeys(incoming.get(n, n) for n in grad.input_arg_names())
        values = one.values | one.run([n for n in read if n not in one.values])
        given = {
            gradient: data.away_from_zero(*values[name].shape)
            for gradient, name in incoming.items()
            if name in values
        }
        inputs: dict[str, Value] = {
            slot: _value(op_type, slot, [given.get(n, values.get(n)) for n in names])
            for slot, names in grad.inputs().items()
        }
        outputs = {slot: len(names) for slot, names in grad.outputs().items()}
        known = {attr.name for attr in core.op_def(op_type).attrs}
        attrs = {name: grad.attr(name) for name in grad.attr_names() if name in known}
        yield OpExample(
            op_type, inputs, attrs, _differentiable(grad), outputs=outputs, note=example.note
        )


def _stands_alone(grad: core.OpDesc) -> bool:
    """Whether the gradient of `grad` is right for inputs of any value.

    In training batch_norm_grad is differentiated by X through the statistics as well, for no
    gradient comes back from them: right only for the statistics of X itself.
    """
    return grad.type() != "batch_norm_grad" or bool(grad.attr("is_test"))


def _value(op_type: str, slot: str, arrays: list[Array | None]) -> Value:
    found = [array for array in arrays if array is not None]
    listed = {s.name for s in core.op_def(op_type).inputs if s.list}
    return found if slot in listed else found[0]


def _differentiable(grad: core.OpDesc) -> tuple[str, ...]:
    """The slots that the gradient of `grad` is calculated for."""
    _, grad_to_var = core.get_grad_op_desc(grad, set(), [])
    names = set(grad_to_var.values())
    return tuple(slot for slot, given in grad.inputs().items() if names.intersection(given))
