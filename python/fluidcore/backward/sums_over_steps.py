"""Gradients that add up over the steps of a `recurrent` operator, calculated once, after it.

Where every step multiplies rows of its own by one weight, the gradient of the weight is a sum over
the rows of all steps:

    recurrent_grad -> w@GRAD@CARRY
        mul_grad(x, w, y@GRAD) -> x@GRAD, w@GRAD
        sum(w@GRAD@CARRY, w@GRAD) -> w@GRAD@CARRY
    assign(w@GRAD@CARRY) -> w@GRAD

becomes

    recurrent_grad -> x@STEPS, y@GRAD@STEPS
        mul_grad(x, w, y@GRAD) -> x@GRAD
    reshape(x@STEPS) -> x@ROWS
    reshape(y@GRAD@STEPS) -> y@GRAD@ROWS
    mul_grad(x@ROWS, w, y@GRAD@ROWS) -> w@GRAD
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from fluidcore import core
from fluidcore.backward.operators import EMPTY, ForwardOp, GradOp
from fluidcore.backward.view import variable_seen
from fluidcore.program import Block


class Row(NamedTuple):
    """What a step has some rows of.

    Attributes:
        name: The variable of the gradient block.
        stack: Outside, that of all steps, one above the other.
        extents: Of one row.
    """

    name: str
    stack: str
    extents: list[int]


class SumOverSteps(NamedTuple):
    """An operator that runs once, on the rows of all steps.

    Attributes:
        op: What it was in each step; its other outputs are made there.
        slot: The output that is a sum.
        rows: What it reads of each step.
    """

    op: GradOp
    slot: str
    rows: list[Row]

    def ops(self, result: str, fresh: Callable[[str], str]) -> list[GradOp]:
        """The operators outside.

        Args:
            result: The name of the sum.
            fresh: Makes a name that nothing has.
        """
        made = []
        whole = {}
        for name, stack, extents in self.rows:
            whole[name] = fresh(f"{name}@ROWS")
            shape = {"shape": [-1, *extents]}
            made.append(GradOp("reshape", {"X": [stack]}, {"Out": [whole[name]]}, shape))
        inputs = {s: [whole.get(n, n) for n in names] for s, names in self.op.inputs.items()}
        outputs = {s: [EMPTY] * len(names) for s, names in self.op.outputs.items()}
        outputs[self.slot] = [result]
        site = self.op.call_site
        made.append(
            GradOp(self.op.type, inputs, outputs, desc=self.op.desc, renamed=True, call_site=site)
        )
        return made


def sums_over_steps(
    ops: Sequence[GradOp],
    carried: Collection[str],
    forward: Block,
    starts: Collection[str],
    fresh: Callable[[str], str],
) -> tuple[list[GradOp], dict[str, SumOverSteps]]:
    """Takes the sums over rows out of the steps.

    Args:
        ops: Of the gradient block, before gradients of several parts are added up.
        carried: The variables in which gradients of what the steps only read add up.
        forward: The block of the steps.
        starts: Gradients that a step begins with; these may be known by another name later.
        fresh: Makes a name outside that nothing has.

    Returns:
        The operators that are left; what is to be done outside, by the variable of `carried` that
        is not needed any more.
    """
    left = list(ops)
    found: dict[str, SumOverSteps] = {}
    for add in ops:
        variable = add.outputs.get("Out", [EMPTY])[0]
        if add.type != "sum" or variable not in carried or add.forward is not None:
            continue
        (grad,) = [name for name in add.inputs["X"] if name != variable]
        makers = [op for op in left if grad in op.output_names()]
        readers = [op for op in left if grad in op.input_names()]
        if len(makers) != 1 or len(readers) != 1:
            continue
        (op,) = makers
        slot = next(slot for slot, names in op.outputs.items() if grad in names)
        rows = _rows(op, slot, forward, starts)
        if rows is None:
            continue
        stacked = [Row(name, fresh(f"{name}@STEPS"), extents) for name, extents in rows.items()]
        found[variable] = SumOverSteps(op, slot, stacked)
        left.remove(add)
        outputs = {**op.outputs, slot: [EMPTY]}
        at = left.index(op)
        left[at : at + 1] = (
            [op._replace(outputs=outputs, renamed=True)]
            if any(name != EMPTY for names in outputs.values() for name in names)
            else []
        )
    return left, found


def _rows(
    op: GradOp, slot: str, forward: Block, starts: Collection[str]
) -> dict[str, list[int]] | None:
    """What the operator reads of each step -> extents of a row; None if it adds up no rows."""
    of = op.forward
    if of is None or of.desc is None or of.body is not None or op.new_values or op.old_values:
        return None
    weight = slot.removesuffix(core.GRAD_VAR_SUFFIX)
    slots = {**of.desc.inputs(), **of.desc.outputs()}
    if not _is_by_rows(of, weight, forward):
        return None
    rows: dict[str, list[int]] = {}
    for own, names in op.inputs.items():
        likes = slots.get(own.removesuffix(core.GRAD_VAR_SUFFIX), [])
        if own == weight:
            continue
        if len(names) != 1 or len(likes) != 1 or names[0] == EMPTY or names[0] in starts:
            return None
        if not forward.has_var(likes[0]):
            return None
        extents = list(forward.var(likes[0]).shape)[1:]
        if any(extent < 0 for extent in extents):
            return None
        rows[names[0]] = extents
    return rows


def _is_by_rows(op: ForwardOp, weight: str, forward: Block) -> bool:
    """Whether every input but `weight` has rows that do not depend on each other."""
    assert op.desc is not None
    shapes: dict[str, list[list[int]]] = {}
    for slot, names in op.desc.inputs().items():
        if len(names) != 1:
            return False
        extents = variable_seen(forward, names[0]).shape()
        shapes[slot] = [[max(extent, 1) for extent in extents]]
    definition = core.op_def(op.type)
    counts = {slot: definition.num_rows(op.desc, slot, shapes) for slot in shapes}
    return len(counts) > 1 and all((counts[slot] == 0) == (slot == weight) for slot in counts)
