"""append_backward and gradients: the program that calculates gradients, as ordinary operators.

In passes: find the operators between the parameters and the loss; collect their gradient
operators in reverse; drop those that calculate only zeros; sum partial gradients; append what is
left, operator by operator, with shapes, element types and callbacks. The gradient of an operator
with a sub-block is the same loop or branch over a gradient block.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence

from fluidcore import core
from fluidcore.backward.append import (
    _append_backward_ops_,
    _append_backward_vars_,
    _remove_no_grad_branch_,
)
from fluidcore.backward.arguments import (
    Callback,
    Names,
    check_loss,
    checked_callbacks,
    checked_checkpoints,
    checked_names,
    checked_no_grad_set,
    checked_variables,
    source_named,
)
from fluidcore.backward.block_gradient import BlockGradient, Shared
from fluidcore.backward.operators import GradOp, op_traits
from fluidcore.backward.passes import _addup_repetitive_outputs_
from fluidcore.backward.path import ops_on_path
from fluidcore.backward.values import Insertions
from fluidcore.backward.view import forward_ops, is_array, stopped_names
from fluidcore.base.checks import extents_agree
from fluidcore.base.dtypes import FLOATING
from fluidcore.program import Block, Parameter, Variable
from fluidcore.program.op_slots import list_all_effects

__all__ = [
    "_addup_repetitive_outputs_",
    "_append_backward_ops_",
    "_append_backward_vars_",
    "_remove_no_grad_branch_",
    "append_backward",
    "calc_gradient",
    "gradients",
]


def append_backward(
    loss: Variable,
    parameter_list: Names = None,
    no_grad_set: Names = None,
    callbacks: Sequence[Callback] | None = None,
    checkpoints: Names = None,
    *,
    callback: Callback | None = None,
) -> list[tuple[Variable, Variable | None]]:
    """Appends the operators that calculate the gradient of `loss` to its program.

    Args:
        loss: One number, for example [1].
        parameter_list: Parameters or other floating Variables, or their names, whose gradients
            are wanted; None for all trainable parameters, and data that does not stop gradients.
        no_grad_set: Variables, or their names, that are constants, beside those with
            `stop_gradient`.
        callbacks: Each is called as `callback(block=..., context=grad_to_var)` after each appended
            operator; the context maps names of complete gradients to forward variables, each once:
            in the block of the operator that makes the value.
        checkpoints: Variables of the loss's block, or their names. What lies between two of them
            is not kept for backward but calculated again: the same gradients, bit for bit, in less
            memory and more time. None keeps everything.
        callback: One of `callbacks`, as Fluid's first versions took it.

    Returns:
        Each parameter with its gradient; None where the loss does not depend on the parameter.

    Raises:
        core.InvalidArgument: The loss is not one number, an operator between the parameters and
            the loss has no gradient, a checkpoint is nothing that the block calculates, or an
            item of `parameter_list` is not floating or a tensor array.
    """
    check_loss(loss)
    callbacks = checked_callbacks(callbacks, callback)
    block = loss.block
    given = checked_no_grad_set(no_grad_set, block.program)
    stopped = _stopped_around(block)
    wanted: list[Variable]
    if parameter_list is None:
        wanted = [p for p in block.program.all_parameters() if p.trainable]
        sources = {p.name for p in wanted} | _leaves(block)
    else:
        wanted = [
            source_named(block, name)
            for name in checked_names("parameter_list", parameter_list, block.program)
        ]
        sources = {p.name for p in wanted}
        stopped -= {v.name for v in wanted if not isinstance(v, Parameter)}
    found = _append_backward(
        block,
        [loss],
        [None],
        sources,
        stopped | given,
        callbacks,
        [p.name for p in wanted],
        checked_checkpoints(block, checkpoints),
    )
    return list(zip(wanted, found, strict=True))


def gradients(
    targets: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    target_gradients: Variable | Sequence[Variable | None] | None = None,
    no_grad_set: Names = None,
) -> list[Variable | None]:
    """Appends the operators that calculate the gradients of `targets` with respect to `inputs`.

    The results are ordinary variables, so that gradients of gradients can be taken.

    Args:
        targets: Variables of any shape, of one block; their gradients are added.
        inputs: Variables, also such that stop gradients otherwise.
        target_gradients: A gradient for each target, of its shape; None stands for ones.
        no_grad_set: Variables, or their names, that are constants.

    Returns:
        The gradient of each input, of its shape; None where no target depends on the input, and
        for an input of whole numbers.

    Raises:
        core.InvalidArgument: The variables are not of one program, a target is in another block
            than the others or a tensor array, an input is not seen from there or a tensor array, a
            given gradient has not the form of its target, or an operator on the way has no
            gradient.
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
    for target in targets:
        if target.block.idx != block.idx:
            raise core.InvalidArgument(
                f"gradients: all targets must be in one block, got '{targets[0].name}' of block "
                f"{block.idx} and '{target.name}' of block {target.block.idx}"
            )
        if is_array(block, target.name):
            raise core.InvalidArgument(
                f"gradients: targets must be tensors, got the tensor array '{target.name}'; "
                "read an element with layers.array_read"
            )
    for variable in inputs:
        if not block.has_var_recursive(variable.name):
            raise core.InvalidArgument(
                f"gradients: inputs must be seen from the block of the targets, block {block.idx}, "
                f"got '{variable.name}' of block {variable.block.idx}"
            )
        if is_array(block, variable.name):
            raise core.InvalidArgument(
                f"gradients: inputs must be tensors, got the tensor array '{variable.name}', which "
                "starts empty; take what is written to it"
            )
    for target, gradient in zip(targets, target_gradients, strict=True):
        if gradient is not None and not _has_form_of(gradient, target):
            raise core.InvalidArgument(
                f"gradients: the gradient of a target must have its shape and dtype, "
                f"got {gradient!r} for {target!r}"
            )
    names = [v.name for v in inputs]
    stopped = _stopped_around(block) - {v.name for v in inputs if v.dtype in FLOATING}
    stopped |= checked_no_grad_set(no_grad_set, block.program)
    return _append_backward(block, targets, target_gradients, names, stopped, (), names)


def _has_form_of(gradient: Variable, target: Variable) -> bool:
    """Whether dtype and shape agree, as far as the extents are known."""
    return gradient.dtype == target.dtype and extents_agree(gradient.shape, target.shape)


def calc_gradient(
    targets: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    target_gradients: Variable | Sequence[Variable | None] | None = None,
    no_grad_set: Names = None,
) -> Variable | list[Variable | None] | None:
    """`gradients` under its early name; the gradient of a single input comes without a list."""
    found = gradients(targets, inputs, target_gradients, no_grad_set)
    return found[0] if len(found) == 1 else found


def _append_backward(
    block: Block,
    targets: Sequence[Variable],
    target_gradients: Sequence[Variable | None],
    sources: Iterable[str],
    stopped: set[str],
    callbacks: Sequence[Callback],
    wanted: Sequence[str],
    checkpoints: frozenset[str] = frozenset(),
) -> list[Variable | None]:
    """Appends everything, or, after an error, nothing; returns the gradients of `wanted`."""
    sources = frozenset(sources)
    effects = core.EffectsOfBlocks(block.program.desc)
    ops = forward_ops(block, effects)
    names = [target.name for target in targets]
    path = ops_on_path(ops, sources, names, stopped, lambda name: op_traits(name).is_constant)
    if path.variables.isdisjoint(names):
        return [None] * len(wanted)
    mark = block.mark()
    num_blocks = block.program.num_blocks
    insertions = Insertions(block)
    leaves = frozenset(name for name in sources if _is_persistable(block, name))
    shared = Shared(effects, insertions, sources, leaves, callbacks, checkpoints)
    gradient = BlockGradient(block, ops, path, block, shared)
    # Many objects are made and none becomes garbage: looking for some would take half the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        seeds: list[GradOp] = []
        for target, cotangent in zip(targets, target_gradients, strict=True):
            seeds += _target_seeds(target, cotangent, gradient)
        _append_backward_ops_(gradient, seeds)
    except BaseException:
        mark.rollback()
        gradient.remove_variables()
        block.program.remove_blocks(num_blocks)
        raise
    finally:
        if collects:
            gc.enable()
    insertions.apply()
    _refresh_all_slots(block, insertions)
    return [gradient.names.variable(name) for name in wanted]


def _refresh_all_slots(block: Block, insertions: Insertions) -> None:
    """Lists what was added to sub-blocks in the slots of the operators that run them."""
    changed = set(insertions.by_block)
    if changed <= {block.idx}:
        return
    desc = block.program.desc
    list_all_effects(desc, reversed(range(desc.num_blocks())))  # what inner blocks do shows outside


def _is_persistable(block: Block, name: str) -> bool:
    desc = block.desc.find_var_recursive(name)
    return desc is not None and desc.persistable()


def _stopped_around(block: Block) -> set[str]:
    """The variables seen from a block that gradients do not pass."""
    return set().union(*(stopped_names(around) for around in block.outward()))


def _leaves(block: Block) -> set[str]:
    """Variables that get their value from outside of a run and do not live between runs: data."""
    written = {name for op in block.desc.ops() for name in op.output_arg_names()}
    return {
        desc.name()
        for desc in block.desc.all_vars()
        if not desc.persistable() and (desc.is_data() or desc.name() not in written)
    }


def _target_seeds(
    target: Variable, cotangent: Variable | None, gradient: BlockGradient
) -> list[GradOp]:
    """The operators that start the gradient of a target."""
    names = gradient.names
    grad = names.gradient(target.name, names.versions.at_end(target.name))
    names.grad_to_var[grad] = target.name
    out = {"Out": [grad]}
    if cotangent is not None:
        return [GradOp("assign", {"X": [cotangent.name]}, out)]
    if -1 not in target.shape:
        ones = {
            "shape": list(target.shape),
            "value": 1.0,
            "dtype": core.dtype_number(target.dtype),
        }
        return [GradOp("fill_constant", {}, out, ones)]
    zeros = names.fresh(f"{core.grad_var_name(target.name)}@ZEROS")
    return [  # exp(0) is 1 for a shape known only at run time
        GradOp("fill_zeros_like", {"X": [target.name]}, {"Out": [zeros]}),
        GradOp("exp", {"X": [zeros]}, out),
    ]
