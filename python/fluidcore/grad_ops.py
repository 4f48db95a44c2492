"""From one forward operator to its gradient operators, with the names they get in the program."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from itertools import chain

from fluidcore import core
from fluidcore.call_site import explain
from fluidcore.grad_passes import EMPTY, ForwardOp, GradOp, Slots
from fluidcore.program import Block, Variable


class GradientNames:
    """The names of the gradients of one append_backward, and which of them exist."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.grad_to_var: dict[str, str] = {}
        self.produced: set[str] = set()
        self._final: dict[str, str] = {}

    def final(self, name: str) -> str:
        """x@GRAD for "x"; x@GRAD_0 if an earlier append_backward took that name."""
        return self.unused(core.grad_var_name(name))

    def unused(self, name: str) -> str:
        """The name of this append_backward for what a gradient maker calls `name`."""
        final = self._final.get(name)
        if final is None:
            final, count = name, 0
            while self.block.desc.has_var_recursive(final):
                final, count = f"{name}_{count}", count + 1
            self._final[name] = final
        return final

    def variable(self, name: str) -> Variable | None:
        """The gradient of a variable; None if nothing calculates it."""
        final = self._final.get(core.grad_var_name(name))
        return self.block.var(final) if final in self.produced and final is not None else None


def gradient_of(op: ForwardOp, no_grad: set[str], names: GradientNames) -> list[GradOp]:
    """The gradient operators of one forward operator, with the names of this append_backward."""
    assert op.desc is not None
    site = op.desc.call_site()
    traits = op_traits(op.type)
    if traits.has_block or not traits.has_grad:
        what = "operators with a sub-block" if traits.has_block else f"'{op.type}'"
        error = core.InvalidArgument(
            f"append_backward: {what} must have a gradient to lie between a parameter and the "
            f"loss, got '{op.type}', which has none; set stop_gradient=True on its output "
            f"'{', '.join(op.outputs)}', or put the output into no_grad_set"
        )
        explain(error, site)
        raise error
    descs, grad_to_var = core.get_grad_op_desc(op.desc, no_grad.intersection(op.inputs), [])
    incoming = {name + core.GRAD_VAR_SUFFIX: name for name in op.outputs}
    final = {grad: names.unused(grad) for grad in incoming if grad not in op.inputs}
    cotangents = {final[grad]: incoming[grad] for grad in final}
    names.grad_to_var.update(cotangents)
    grads = []
    for desc in descs:
        inputs: Slots = desc.inputs()
        outputs: Slots = desc.outputs()
        new_inputs = _renamed(inputs, final)
        for grad in chain.from_iterable(outputs.values()):
            if grad != EMPTY:
                final[grad] = names.unused(grad)
        new_outputs = _renamed(outputs, final)
        renamed = new_inputs is not inputs or new_outputs is not outputs
        grads.append(
            GradOp(desc.type(), new_inputs, new_outputs, {}, cotangents, desc, renamed, site)
        )
    for grad, forward in grad_to_var.items():
        names.grad_to_var[names.unused(grad)] = forward
    return grads


class OpTraits:
    """What append_backward must know of an operator type."""

    def __init__(self, op_type: str) -> None:
        definition = core.op_def(op_type)
        self.is_constant = definition.is_constant
        self.has_grad = definition.has_grad
        self.has_block = any(attr.type == "block" for attr in definition.attrs)
        self.shape_only = frozenset(slot.name for slot in definition.inputs if slot.shape_only)


op_traits = functools.cache(OpTraits)


def _renamed(slots: Slots, final: Mapping[str, str]) -> Slots:
    """The slots with their final names; the same object if nothing changes."""
    if all(final.get(name, name) == name for args in slots.values() for name in args):
        return slots
    return {slot: [final.get(name, name) for name in args] for slot, args in slots.items()}


def values_read(grad: GradOp) -> list[str]:
    """The names whose elements, and not just their shape, a gradient operator reads."""
    shape_only = op_traits(grad.type).shape_only
    return [name for slot, args in grad.inputs.items() if slot not in shape_only for name in args]
