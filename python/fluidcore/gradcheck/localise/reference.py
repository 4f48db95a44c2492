"""The gradient operators that a program has, and those that it should have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fluidcore import core
from fluidcore.backward import append_backward, gradients
from fluidcore.clip import error_clip_callback
from fluidcore.gradcheck.adapters.program import ProgramTarget
from fluidcore.gradcheck.program.appended_ops import (
    first_gradient_op,
    gradients_written,
    remove_optimizers,
)
from fluidcore.gradcheck.program.places import Place, every_op, inner_block, mark_places
from fluidcore.program import Program
from fluidcore.program.op_slots import list_all_effects

OF = "of "
_KEPT_VALUES = ("@GRAD", "@STEPS", "@VERSION@", "@RECOMPUTED")


@dataclass(frozen=True)
class Pair:
    """A backward program, and one that is made anew from its forward operators.

    Attributes:
        actual: The program with the gradient operators that are checked; every operator's call
            site is its name.
        reference: The same forward operators, under the same names, and new gradient operators,
            named "of " and the name of their forward operator; None if there can be none.
        forward: The names of the forward operators.
        places: Name of an operator -> where it is in the user's program.
    """

    actual: core.ProgramDesc
    reference: core.ProgramDesc | None
    forward: frozenset[str]
    places: dict[str, Place]


def backward_pair(target: ProgramTarget) -> Pair:
    """What a target calculates, and what it should."""
    if target.gradient_names is None:
        return _appended(target)
    actual = target.original.desc.clone()
    places = mark_places(actual)
    remove_optimizers(actual)
    reference = _forward_part(actual, target.outputs[0])
    if reference is None:
        return Pair(actual, None, frozenset(places), places)
    before = [op for _, _, op in every_op(reference)]
    forward = frozenset(op.call_site() for op in before)
    try:
        _append(Program.from_desc(reference), target, actual)
    except core.Error:
        return Pair(actual, None, forward, places)
    for _, _, op in _added(reference, before):
        op.set_call_site(OF + op.call_site())
    return Pair(actual, reference, forward, places)


def _append(program: Program, target: ProgramTarget, actual: core.ProgramDesc) -> None:
    block = program.global_block()
    written = gradients_written(actual, target.outputs[0])
    names = [
        var.name()
        for var in block.desc.all_vars()
        if var.name() in target.names
        or ((var.is_parameter() or var.is_data()) and var.name() in written)
    ]
    loss = block.var(target.outputs[0])
    if any(op.type() == "clip" for _, _, op in every_op(actual)):
        parameters = [name for name in names if block.var(name).desc.is_parameter()]
        append_backward(
            loss,
            parameter_list=parameters if len(parameters) == len(names) else None,
            no_grad_set=target.constants,
            callbacks=[error_clip_callback],
        )
    else:
        gradients(loss, [block.var(name) for name in names], no_grad_set=target.constants)


def _forward_part(actual: core.ProgramDesc, loss: str) -> core.ProgramDesc | None:
    """A copy with what comes before the gradient of the loss, and nothing that it needs kept."""
    forward = actual.clone()
    block = forward.block(0)
    seed = first_gradient_op(block.ops(), loss)
    if seed is None:
        return None
    block.remove_op(seed, block.op_size())
    used = _blocks_used(forward)
    read = {
        name
        for index in used
        for op in forward.block(index).ops()
        if op.type() != "push_to_array" and inner_block(op) is None
        for name in op.input_arg_names()
    }
    for index in used:
        _remove_kept_values(forward.block(index), read)
    list_all_effects(forward, reversed(used))
    _remove_variables(forward, used)
    forward.keep_blocks(used)
    return forward


def _blocks_used(desc: core.ProgramDesc) -> list[int]:
    found, waiting = {0}, [0]
    while waiting:
        block = desc.block(waiting.pop())
        near = {inner for op in block.ops() if (inner := inner_block(op)) is not None}
        near.update(i for i in (block.forward_block_idx(), block.parent()) if i >= 0)
        waiting += near - found
        found |= near
    return sorted(found)


def _remove_kept_values(block: core.BlockDesc, read: set[str]) -> None:
    """Removes the operators that keep values for gradient operators only."""
    for position in reversed(range(block.op_size())):
        op = block.op(position)
        results = op.output_arg_names()
        keeps = op.type() == "push_to_array" or (
            op.type() == "assign" and "@VERSION@" in results[0] and "@GRAD" not in results[0]
        )
        if keeps and read.isdisjoint(results):
            block.remove_op(position, position + 1)


def _remove_variables(desc: core.ProgramDesc, blocks: Iterable[int]) -> None:
    """Removes the variables of gradient operators that are not there any more."""
    blocks = list(blocks)
    used = {
        name
        for index in blocks
        for op in desc.block(index).ops()
        for name in (*op.input_arg_names(), *op.output_arg_names())
    }
    for index in blocks:
        block = desc.block(index)
        gone = [
            var.name()
            for var in block.all_vars()
            if var.name() not in used and any(mark in var.name() for mark in _KEPT_VALUES)
        ]
        block.remove_vars(gone)


def _appended(target: ProgramTarget) -> Pair:
    """Gradient operators appended to a copy: nobody has changed them."""
    desc = target.program.desc.clone()
    places = mark_places(desc)
    before = [op for _, _, op in every_op(desc)]
    target.append_gradients(Program.from_desc(desc))
    added = list(_added(desc, before))
    reference = desc.clone()
    for block, position, op in added:
        twin = reference.block(block.id()).op(position)
        twin.set_call_site(OF + op.call_site())
        site = places[op.call_site()].call_site if op.call_site() in places else ""
        name = f"gradient {block.id()}:{position}"
        places[name] = Place(block.id(), position, op.type(), site)
        op.set_call_site(name)
    forward = frozenset(op.call_site() for op in before)
    return Pair(desc, reference, forward, places)


def _added(
    desc: core.ProgramDesc, before: list[core.OpDesc]
) -> Iterator[tuple[core.BlockDesc, int, core.OpDesc]]:
    """The operators that were not there before."""
    old = {id(op) for op in before}
    return ((block, i, op) for block, i, op in every_op(desc) if id(op) not in old)
