"""The parts of a training program: what it calculates, its gradients, the updates."""

from __future__ import annotations

from enum import StrEnum

from fluidcore import core
from fluidcore.base.definitions import remembered


class Role(StrEnum):
    """The part of a program that an operator belongs to."""

    FORWARD = "forward"
    BACKWARD = "backward"
    UPDATE = "optimizer"


def roles(block: core.BlockDesc) -> list[Role]:
    """The role of each operator of a block, in order.

    A gradient operator, and one that writes a variable with "@GRAD" in its name, is backward. An
    operator that updates a parameter declares the slot ParamOut. What stands behind the first
    backward operator and is neither belongs to the updates (powers of beta, a clip's factor,
    learning rates); what stands before it is forward.
    """
    ops = block.ops()
    found: list[Role] = []
    behind = False
    for op in ops:
        if _updates(op.type()):
            role = Role.UPDATE
        elif _writes_gradient(op):
            role, behind = Role.BACKWARD, True
        else:
            role = Role.UPDATE if behind else Role.FORWARD
        found.append(role)
    return _with_what_backward_reads(ops, found)


def _with_what_backward_reads(ops: list[core.OpDesc], found: list[Role]) -> list[Role]:
    """Gives what backward reads to backward: recomputed values, factors of clips."""
    needed: set[str] = set()
    result = list(found)
    for number in reversed(range(len(ops))):
        op = ops[number]
        may_move = result[number] is Role.UPDATE and not _updates(op.type())
        if may_move and needed.intersection(op.output_arg_names()):
            result[number] = Role.BACKWARD
        if result[number] is Role.BACKWARD:
            needed.update(op.input_arg_names())
    return result


@remembered
def _updates(op_type: str) -> bool:
    if op_type not in core.op_types():
        return False
    return any(slot.name == "ParamOut" for slot in core.op_def(op_type).outputs)


def _writes_gradient(op: core.OpDesc) -> bool:
    if op.type().endswith("_grad"):
        return True
    return any(core.GRAD_VAR_SUFFIX in name for name in op.output_arg_names())
