"""What is appended to a forward program: gradients, told by their names, and optimizers."""

from __future__ import annotations

from collections.abc import Sequence

from fluidcore import core


def first_gradient_op(ops: Sequence[core.OpDesc], loss: str) -> int | None:
    """The first operator that writes, or reads, the gradient of the loss; None if none does."""
    grad = core.grad_var_name(loss)
    uses = (
        i for i, op in enumerate(ops) if grad in (*op.output_arg_names(), *op.input_arg_names())
    )
    return next(uses, None)


def gradients_written(desc: core.ProgramDesc, loss: str) -> dict[str, str]:
    """Variable -> its complete gradient: x@GRAD, or x@GRAD_0 if there is an older one.

    Only what is calculated in the outermost block, after the gradient of this loss has begun and
    before that of another one begins.
    """
    ops = desc.block(0).ops()
    first = first_gradient_op(ops, loss)
    found: dict[str, str] = {}
    for op in ops if first is None else ops[first:]:
        if _begins_another(op, loss):
            break
        for name in op.output_arg_names():
            variable, _, number = name.rpartition(core.GRAD_VAR_SUFFIX)
            if variable and (not number or number.removeprefix("_").isdigit()):
                found[variable] = name
    return found


def _begins_another(op: core.OpDesc, loss: str) -> bool:
    """Whether an operator writes the 1 that the gradient of another loss starts with."""
    if op.type() != "fill_constant" or op.attr("value") != 1.0:
        return False
    variable, found, _ = op.output("Out")[0].rpartition(core.GRAD_VAR_SUFFIX)
    return bool(found) and variable != loss


def remove_optimizers(desc: core.ProgramDesc) -> None:
    """Removes the operators that update parameters."""
    block = desc.block(0)
    for position in reversed(range(block.op_size())):
        if "ParamOut" in block.op(position).outputs():
            block.remove_op(position, position + 1)
