"""The gradient operators of a block and of the blocks inside, appended one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fluidcore import core
from fluidcore.backward.block_gradient import BlockGradient
from fluidcore.backward.blocks import Ends, sub_block_gradient
from fluidcore.backward.copies import read_directly
from fluidcore.backward.gradient import gradient_of, with_values
from fluidcore.backward.operators import GradOp
from fluidcore.backward.passes import NoGradBranches, _addup_repetitive_outputs_, drop_unread
from fluidcore.backward.recompute import recompute_segments
from fluidcore.backward.rows_of_steps import all_rows, push_rows
from fluidcore.backward.sums_over_steps import SumOverSteps, sums_over_steps
from fluidcore.backward.view import is_array
from fluidcore.program import Block


def _append_backward_ops_(
    gradient: BlockGradient,
    seeds: list[GradOp],
    ends: Ends = lambda produced: [],
    results: Collection[str] = (),
    added_up: Collection[str] = (),
) -> dict[str, SumOverSteps]:
    """Appends the gradient operators of a block, in reverse, to its target block.

    Args:
        gradient: The gradient of the block.
        seeds: Operators that start the gradients.
        ends: From the gradients that exist, the operators that come last.
        results: What is wanted of a gradient block, beside what it adds to arrays; for the
            outermost block every gradient is.
        added_up: Those of `results` to which each step adds.

    Returns:
        What of `added_up` the steps of a `recurrent` operator do not calculate: it is to be made
        after them.
    """
    target = gradient.target
    names = gradient.names
    ops = gradient.path.ops
    no_grad = gradient.shared.no_grad_dict[gradient.forward.idx]
    grads = gradient.branches.remove(seeds)
    for op in reversed(ops):
        if op.body is None:
            made = gradient_of(op, no_grad, names, gradient.forward, gradient.arrays)
        else:
            made = sub_block_gradient(op, gradient, _append_backward_ops_)
        grads += _remove_no_grad_branch_(made, gradient.branches)
    grads += ends(gradient.produced)
    arrays = set(gradient.arrays.values())
    if gradient.outer is None:
        # Gradients of values that are overwritten are not what anybody asks for.
        asked_for = {grad for grad in names.grad_to_var if "@VERSION@" not in grad}
        grads = drop_unread(grads, asked_for | arrays)
    else:
        grads = drop_unread(grads, arrays.union(results, all_rows(gradient)))
    grads = [with_values(grad, gradient.values) for grad in grads]
    sums: dict[str, SumOverSteps] = {}
    if gradient.outer is not None and gradient.op is not None and gradient.op.type == "recurrent":
        starts = {name for seed in seeds for name in seed.output_names()}
        fresh = gradient.outer.names.fresh
        grads, sums = sums_over_steps(grads, added_up, gradient.forward, starts, fresh)
    if gradient.outer is None and gradient.shared.checkpoints:
        grads = recompute_segments(grads, gradient.ops, gradient.shared.checkpoints, names)
    in_place = arrays.union(gradient.carried, *(grad.writes for grad in grads))
    callbacks = gradient.shared.callbacks
    context = gradient.complete_gradients() if callbacks else {}
    for next_op in gradient.values.pops + _addup_repetitive_outputs_(grads, in_place):
        grad = push_rows(next_op, added_up, gradient)
        first = target.desc.op_size()
        names.produced.update(grad.output_names())
        _append(target.desc, grad)
        if gradient.outer is not None:
            _declare_locals(target, grad, results)
        _append_backward_vars_(target, first)
        if callbacks:
            first += 1
            for callback in callbacks:
                callback(block=target, context=context)
            _append_backward_vars_(target, first)
    if gradient.outer is not None:
        read_directly(target.desc, {name for seed in seeds for name in seed.output_names()})
    return sums


def _remove_no_grad_branch_(grads: Iterable[GradOp], branches: NoGradBranches) -> list[GradOp]:
    """Drops what calculates only zeros, and makes the zeros that are read."""
    return branches.remove(grads)


def _append_backward_vars_(block: Block, start_op_idx: int) -> None:
    """Creates the outputs of the operators from `start_op_idx` on, with shape and element type."""
    desc = block.desc
    for index in range(start_op_idx, desc.op_size()):
        desc.op(index).infer_shape(desc)


def _declare_locals(block: Block, grad: GradOp, results: Collection[str]) -> None:
    """Makes the results of an operator variables of the block, whatever is outside of it."""
    elsewhere = {*results, *grad.writes}  # what a block inside writes has a place already
    for name in grad.output_names():
        if name not in elsewhere and not block.has_var(name) and not is_array(block, name):
            block.desc.var(name)


def _append(block: core.BlockDesc, grad: GradOp) -> None:
    op = block.append_op()
    if grad.desc is None:
        op.copy_from(core.OpDesc(grad.type, grad.inputs, grad.outputs, dict(grad.attrs)))
    else:
        op.copy_from(grad.desc)
        if grad.renamed:
            for slot, args in grad.inputs.items():
                op.set_input(slot, args)
            for slot, args in grad.outputs.items():
                op.set_output(slot, args)
    op.set_call_site(grad.call_site)
