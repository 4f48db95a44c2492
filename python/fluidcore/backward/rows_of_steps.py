"""Gradients of a table that are selected rows in every step of a loop, joined after it.

    while_grad -> w@GRAD@CARRY
        lookup_table_grad(w, ids, y@GRAD) -> w@GRAD     # selected rows
        sum(w@GRAD@CARRY, w@GRAD) -> w@GRAD@CARRY       # as high as the table
    assign(w@GRAD@CARRY) -> w@GRAD

becomes

    while_grad -> w@GRAD@STEPS
        lookup_table_grad(w, ids, y@GRAD) -> w@GRAD
        push_selected_rows(w@GRAD) -> w@GRAD@STEPS
    join_selected_rows(w@GRAD@STEPS) -> w@GRAD

The array is outside of all loops, and what is in it is joined after the outermost one.
"""

from __future__ import annotations

from collections.abc import Collection

from fluidcore import core
from fluidcore.backward.block_gradient import BlockGradient
from fluidcore.backward.operators import GradOp
from fluidcore.backward.versions import ONLY
from fluidcore.backward.view import declare_like
from fluidcore.program.variable import ARRAY, SELECTED_ROWS


def push_rows(add: GradOp, carried: Collection[str], inner: BlockGradient) -> GradOp:
    """What takes the place of an operator that ends a step of a loop, or a branch.

    Args:
        add: The operator; all before it are in the gradient block.
        carried: Variables in which gradients of what the steps only read add up.
        inner: The gradient of the loop's block.

    Returns:
        The operator; one that keeps the rows, where selected rows would be added to `carried`.
    """
    variable = add.outputs.get("Out", [""])[0]
    if add.type != "sum" or variable not in carried or add.forward is not None:
        return add
    (grad,) = [name for name in add.inputs["X"] if name != variable]
    desc = inner.target.desc.find_var(grad)
    name = inner.names.grad_to_var[grad]
    if desc is None or desc.type() != SELECTED_ROWS or not _is_read_only(inner, name):
        return add
    outermost = _outermost(inner)
    fresh = outermost.shared.insertions.fresh(f"{core.grad_var_name(name)}@STEPS")
    array = outermost.names.fresh(fresh)
    declare_like(outermost.target, array, name, outermost.forward).set_type(ARRAY)
    outermost.carried.add(array)
    inner.shared.rows.setdefault(name, []).append(array)
    slots = {"X": [grad], "Array": [array]}
    return GradOp("push_selected_rows", slots, {"ArrayOut": [array]}, call_site=add.call_site)


def has_rows(inner: BlockGradient, name: str) -> bool:
    """Whether steps push rows for a variable around the block."""
    return name in inner.shared.rows and _is_read_only(inner, name)


def all_rows(inner: BlockGradient) -> set[str]:
    """The arrays that rows were pushed to."""
    return {array for arrays in inner.shared.rows.values() for array in arrays}


def joined_rows(outermost: BlockGradient, name: str, result: str) -> list[GradOp]:
    """The operators after an outermost loop, each with a part of the gradient of a variable."""
    return [
        GradOp("join_selected_rows", {"X": [array]}, {"Out": [result]})
        for array in outermost.shared.rows.pop(name)
    ]


def _outermost(gradient: BlockGradient) -> BlockGradient:
    while gradient.outer is not None:
        gradient = gradient.outer
    return gradient


def _is_read_only(inner: BlockGradient, name: str) -> bool:
    """Whether a variable of the outermost block is only read by this and the blocks around."""
    block = inner
    while block.outer is not None:
        if block.forward.has_var(name) or block.versions.at_end(name).gradient != ONLY.gradient:
            return False
        block = block.outer
    return True
