"""append_backward and gradients: the program that calculates gradients, as ordinary operators.

In passes: find the operators between the parameters and the loss; collect their gradient
operators in reverse; drop those that calculate only zeros; sum partial gradients; append what is
left, operator by operator, with shapes, element types and callbacks.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence

from fluidcore import core
from fluidcore.backward_arguments import (
    Callback,
    Names,
    check_loss,
    checked_callbacks,
    checked_names,
    checked_variables,
    parameter_named,
)
from fluidcore.dtypes import FLOATING
from fluidcore.grad_ops import GradientNames, gradient_of, op_traits, values_read
from fluidcore.grad_passes import (
    ForwardOp,
    GradOp,
    check_values_kept,
    check_written_once,
    ops_on_path,
    remove_no_grad_branches,
    sum_partials,
)
from fluidcore.program import Block, Parameter, Variable


def append_backward(
    loss: Variable,
    parameter_list: Names = None,
    no_grad_set: Names = None,
    callbacks: Sequence[Callback] | None = None,
) -> list[tuple[Parameter, Variable | None]]:
    """Appends the operators that calculate the gradient of `loss` to its program.

    Args:
        loss: One number, for example [1].
        parameter_list: Parameters, or their names, whose gradients are wanted; None for all
            trainable ones, and data that does not stop gradients.
        no_grad_set: Variables, or their names, that are constants, beside those with
            `stop_gradient`.
        callbacks: Each is called as `callback(block=..., context=grad_to_var)` after each appended
            operator; the context maps names of complete gradients to forward variables.

    Returns:
        Each parameter with its gradient; None where the loss does not depend on the parameter.

    Raises:
        core.InvalidArgument: The loss is not one number, an operator between the parameters and
            the loss has no gradient, or a value that is needed is overwritten.
    """
    check_loss(loss)
    callbacks = checked_callbacks(callbacks)
    block = loss.block
    given = checked_names("no_grad_set", no_grad_set)
    if parameter_list is None:
        wanted = [p for p in block.program.all_parameters() if p.trainable]
        sources = {p.name for p in wanted} | _leaves(block)
    else:
        wanted = [
            parameter_named(block, name) for name in checked_names("parameter_list", parameter_list)
        ]
        sources = {p.name for p in wanted}
    ones = {"shape": list(loss.shape), "value": 1.0, "dtype": core.dtype_number(loss.dtype)}
    names = GradientNames(block)
    seed = GradOp("fill_constant", {}, {"Out": [names.final(loss.name)]}, ones)
    names.grad_to_var[names.final(loss.name)] = loss.name
    stopped = _stopped_names(block) | set(given)
    _append_backward(block, [loss.name], sources, stopped, [seed], names, callbacks)
    return [(p, names.variable(p.name)) for p in wanted]


def gradients(
    targets: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    target_gradients: Variable | Sequence[Variable | None] | None = None,
    no_grad_set: Names = None,
) -> list[Variable | None]:
    """Appends the operators that calculate the gradients of `targets` with respect to `inputs`.

    Args:
        targets: Variables of any shape; their gradients are added.
        inputs: Variables, also such that stop gradients otherwise.
        target_gradients: A gradient for each target, of its shape; None stands for ones.
        no_grad_set: Variables, or their names, that are constants.

    Returns:
        The gradient of each input, of its shape; None where no target depends on the input.
    """
    targets = checked_variables("targets", targets)
    inputs = checked_variables("inputs", inputs)
    if target_gradients is None or isinstance(target_gradients, Variable):
        target_gradients = [target_gradients] * (len(targets) if target_gradients is None else 1)
    if not targets or len(target_gradients) != len(targets):
        raise core.InvalidArgument(
            "gradients: there must be a gradient for each of at least one target, "
            f"got {len(target_gradients)} for {len(targets)}"
        )
    given = checked_variables("target_gradients", [g for g in target_gradients if g is not None])
    block = targets[0].block
    for variable in (*targets, *inputs, *given):
        if variable.block.program is not block.program:
            raise core.InvalidArgument(
                f"gradients: all Variables must belong to one program, got '{variable.name}' of "
                f"another than that of '{targets[0].name}'"
            )
    names = GradientNames(block)
    seeds: list[GradOp] = []
    for target, gradient in zip(targets, target_gradients, strict=True):
        seeds += _target_seeds(target, gradient, names)
    stopped = _stopped_names(block) - {v.name for v in inputs}
    stopped |= set(checked_names("no_grad_set", no_grad_set))
    wanted = [v.name for v in inputs]
    _append_backward(block, [t.name for t in targets], wanted, stopped, seeds, names, ())
    return [names.variable(name) for name in wanted]


calc_gradient = gradients  # its early name


def _append_backward(
    block: Block,
    targets: list[str],
    sources: Iterable[str],
    stopped: set[str],
    seeds: list[GradOp],
    names: GradientNames,
    callbacks: Sequence[Callback],
) -> None:
    ops = [
        ForwardOp(op.type(), op.input_arg_names(), op.output_arg_names(), position, op)
        for position, op in enumerate(block.desc.ops())
    ]
    sources = set(sources)
    path = ops_on_path(ops, sources, targets, stopped, lambda name: op_traits(name).is_constant)
    if path.variables.isdisjoint(targets):
        return
    check_written_once(ops, path)
    mark = block.mark()
    no_grad_dict = {block.idx: {n for op in path.ops for n in op.inputs} - path.variables}
    # Many objects are made and none becomes garbage: looking for some would take half the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        _append_backward_ops_(path.ops, ops, block, no_grad_dict, seeds, names, callbacks)
    except BaseException:
        mark.rollback()
        block.desc.remove_vars([name for name in names.produced if block.desc.has_var(name)])
        raise
    finally:
        if collects:
            gc.enable()


def _append_backward_ops_(
    path: Sequence[ForwardOp],
    ops: Sequence[ForwardOp],
    target_block: Block,
    no_grad_dict: dict[int, set[str]],
    seeds: list[GradOp],
    names: GradientNames,
    callbacks: Sequence[Callback],
) -> None:
    """Appends the gradient operators of `path`, in reverse, to `target_block`.

    Args:
        path: Operators to differentiate, in execution order.
        ops: All operators of their block.
        target_block: Where to append.
        no_grad_dict: Block index -> names whose gradients are not wanted.
        seeds: Operators that start the gradients.
        names: The names of the gradients.
        callbacks: Called after each appended operator.
    """
    no_grad = no_grad_dict[target_block.idx]
    grads: list[GradOp] = []
    reads: list[tuple[ForwardOp, list[str]]] = []
    for op in reversed(path):
        made = gradient_of(op, no_grad, names)
        reads += [(op, values_read(grad)) for grad in made]
        grads += made
    check_values_kept(ops, reads)
    grads = seeds + _remove_no_grad_branch_(grads, seeds)
    for grad in sum_partials(grads):
        first = target_block.desc.op_size()
        names.produced.update(grad.output_names())
        _append(target_block.desc, grad)
        _append_backward_vars_(target_block, first)
        if callbacks:
            first += 1
            for callback in callbacks:
                callback(block=target_block, context=names.grad_to_var)
            _append_backward_vars_(target_block, first)


def _remove_no_grad_branch_(grads: Iterable[GradOp], seeds: Iterable[GradOp]) -> list[GradOp]:
    """Drops what calculates only zeros, and makes the zeros that are read."""
    return remove_no_grad_branches(grads, [name for seed in seeds for name in seed.output_names()])


def _append_backward_vars_(block: Block, start_op_idx: int) -> None:
    """Creates the outputs of the operators from `start_op_idx` on, with shape and element type."""
    desc = block.desc
    for index in range(start_op_idx, desc.op_size()):
        desc.op(index).infer_shape(desc)


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


def _stopped_names(block: Block) -> set[str]:
    """The variables that gradients do not pass: by stop_gradient or by element type."""
    stopped: set[str] = set()
    current: Block | None = block
    while current is not None:
        stopped.update(
            desc.name()
            for desc in current.desc.all_vars()
            if desc.stop_gradient() or desc.dtype() not in FLOATING
        )
        current = block.program.block(current.parent_idx) if current.parent_idx >= 0 else None
    return stopped


def _leaves(block: Block) -> set[str]:
    """Variables that nothing writes and that do not live between runs: data."""
    written = {name for op in block.desc.ops() for name in op.output_arg_names()}
    return {
        desc.name()
        for desc in block.desc.all_vars()
        if not desc.persistable() and desc.name() not in written
    }


def _target_seeds(
    target: Variable, gradient: Variable | None, names: GradientNames
) -> list[GradOp]:
    grad = names.final(target.name)
    names.grad_to_var[grad] = target.name
    out = {"Out": [grad]}
    if gradient is not None:
        if gradient.dtype != target.dtype or gradient.shape != target.shape:
            raise core.InvalidArgument(
                f"gradients: the gradient of a target must have its shape and dtype, "
                f"got {gradient!r} for {target!r}"
            )
        return [GradOp("assign", {"X": [gradient.name]}, out)]
    if -1 not in target.shape:
        ones = {
            "shape": list(target.shape),
            "value": 1.0,
            "dtype": core.dtype_number(target.dtype),
        }
        return [GradOp("fill_constant", {}, out, ones)]
    zeros = names.unused(f"{core.grad_var_name(target.name)}@ZEROS")
    return [  # exp(0) is 1 for a shape known only at run time
        GradOp("fill_zeros_like", {"X": [target.name]}, {"Out": [zeros]}),
        GradOp("exp", {"X": [zeros]}, out),
    ]
