"""Whom to blame for a wrong value, and for what."""

from __future__ import annotations

from typing import NamedTuple

from fluidcore import core
from fluidcore.gradcheck.localise.alignment import Aligned, Missing
from fluidcore.gradcheck.localise.names import is_gradient, is_part_of, is_sum_of_parts
from fluidcore.gradcheck.localise.reference import OF, Pair
from fluidcore.gradcheck.program.places import positions
from fluidcore.gradcheck.verdict import Reason


class Blame(NamedTuple):
    """A wrong operator; `Culprit` without its place.

    Attributes:
        op: Name of the operator; "" where it is missing.
        op_type: Its type.
        slot: The output slot that is wrong, "" for the operator as a whole.
        variable: The variable that is wrong.
        reason: What kind of fault it is.
        detail: A sentence for a person.
        block: Where a missing operator belongs.
        near: A missing operator's forward operator, by name.
    """

    op: str
    op_type: str
    slot: str
    variable: str
    reason: Reason
    detail: str
    block: int = 0
    near: str = ""


def blame_for_edit(
    pair: Pair,
    aligned: Aligned,
    name: str,
    op: core.OpDesc,
    twin: core.OpDesc,
    variable: str,
) -> Blame:
    """For an operator that is not what it should be, and whose result `variable` is wrong."""
    slot = next((s for s, names in op.outputs().items() if variable in names), "")
    changed = [
        (mine, other)
        for s, names in twin.inputs().items()
        for mine, other in zip(op.inputs().get(s, []), names, strict=False)
        if mine != other
    ]
    for mine, _ in changed:
        writer = _extra_writer(pair, aligned, name, mine)
        if writer is not None:
            return blame_for_extra(writer.call_site(), writer, mine)
    if op.type() != twin.type():
        reason, detail = Reason.MISMATCH, f"'{op.type()}' in place of '{twin.type()}'"
    elif is_sum_of_parts(twin):
        parts = set(op.input("X"))
        lost = [part for part in twin.input("X") if part not in parts]
        reason = Reason.FANOUT_SUM
        detail = f"'{variable}' is not the sum of its parts" + (
            f"; '{lost[0]}' is not in it" if lost else ""
        )
    elif twin.type() == "fill_zeros_like":
        reason, detail = Reason.MISSING_ZERO, f"'{variable}' must be zeros"
    elif twin.type() == "clip":
        reason, detail = Reason.CLIP, f"'{variable}' is not clipped as its variable says"
    elif changed:
        mine, other = changed[0]
        reason = Reason.STALE
        if is_gradient(mine):
            reason = Reason.FANOUT_SUM if is_part_of(mine, other) else Reason.MISMATCH
        detail = f"reads '{mine}' where it must read '{other}'"
    elif op.attrs() != twin.attrs():
        key = next((k for k, v in op.attrs().items() if twin.attrs().get(k) != v), "")
        reason = Reason.MISMATCH
        given = op.attrs().get(key)
        detail = f"the attribute '{key}' is {given} where it must be {twin.attrs().get(key)}"
    else:
        reason, detail = Reason.MISMATCH, f"'{variable}' is written in place of another gradient"
    return Blame(name, op.type(), slot, variable, reason, detail)


def blame_for_extra(name: str, op: core.OpDesc, variable: str) -> Blame:
    """For an operator that does not belong there and changes a gradient."""
    slot = next((s for s, names in op.outputs().items() if variable in names), "")
    if op.type() == "clip":
        detail = f"clips '{variable}', whose variable has no error clip of these bounds there"
        return Blame(name, op.type(), slot, variable, Reason.CLIP, detail)
    detail = f"changes '{variable}', which was complete"
    return Blame(name, op.type(), slot, variable, Reason.MISMATCH, detail)


def blame_for_missing(missing: Missing, variable: str) -> Blame:
    """For an operator that is not there."""
    op = missing.op
    reason = Reason.MISMATCH
    if is_sum_of_parts(op):
        reason = Reason.FANOUT_SUM
    elif op.type() == "fill_zeros_like":
        reason = Reason.MISSING_ZERO
    elif op.type() == "clip":
        reason = Reason.CLIP
    detail = f"'{op.type()}', which makes '{variable}', is missing"
    near = op.call_site().removeprefix(OF)
    return Blame("", op.type(), "", variable, reason, detail, missing.block, near)


def _extra_writer(pair: Pair, aligned: Aligned, reader: str, variable: str) -> core.OpDesc | None:
    """The operator before `reader` that made a variable which the reference does not have."""
    block, position = positions(pair.actual)[reader]
    for op in reversed(pair.actual.block(block).ops()[:position]):
        if variable in op.output_arg_names():
            known = op.call_site() in aligned.twins or op.call_site() in pair.forward
            return None if known or not is_gradient(variable) else op
    return None
